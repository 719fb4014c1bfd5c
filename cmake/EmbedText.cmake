# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D FROM=FILE -D TO=FILE -P EmbedText.cmake: makes a string literal of a text, for #include.
file(READ ${FROM} text)
file(WRITE ${TO} "R\"text(${text})text\"\n")
