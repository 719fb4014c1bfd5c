# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that links between the pages of documentation lead somewhere: to a file that is there and, behind a `#`, to one
of its headings.

RUN: %python %s %source
"""
import os
import re
import sys

LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
CODE = re.compile(r"^```.*?^```$", re.M | re.S)


def find_pages(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and not name.startswith("build")]
        yield from (os.path.join(folder, name) for name in files if name.endswith(".md"))


def read(page):
    """The page without its blocks of code."""
    with open(page, encoding="utf-8") as file:
        return CODE.sub("", file.read())


def get_anchors(page):
    """What readers of Markdown make of headings: lower case, letters, digits, `-` and `_`, with `-` for a space."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(read(page))}


def check(page):
    """What is wrong with the links of a page; how many it has."""
    wrong, count = [], 0
    for link in LINK.findall(read(page)):
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(target):
            wrong.append(f"{page}: {link}: no such file")
        elif anchor and anchor not in get_anchors(target):
            wrong.append(f"{page}: {link}: no such heading")
    return wrong, count


def main(root):
    pages = list(find_pages(root))
    checked = [check(page) for page in pages]
    wrong = [line for lines, _ in checked for line in lines]
    count = sum(links for _, links in checked)
    print(f"{len(pages)} pages, {count} links")
    sys.exit("\n".join(wrong) if wrong or count == 0 else 0)


main(sys.argv[1])
