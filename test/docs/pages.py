# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that the documentation refers to things that exist: links lead to a file and, after a `#`, to one of its headings; paths are
those of files; names of code in docs/design are in the sources; pages of docs/howto list files that exist, no more of them than they
say, and are all in the folder's README.

RUN: %python %s %source
"""
import os
import re
import sys

LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
PATH = re.compile(r"`((?:dialects|docs|examples|include|lib|runtime|test|tools)/[\w./-]+)[`:]")
NAME = re.compile(r"`([A-Za-z_]\w*[a-z][A-Z]\w*)(?:\(\))?`")
SOURCES = (".cpp", ".h", ".td", ".proto", ".py", ".txt", ".cmake")


def find_files(root, endings):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and not name.startswith("build")]
        yield from (os.path.join(folder, name) for name in files if name.endswith(endings))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def get_text(page):
    """The page without its blocks of code."""
    return CODE.sub("", read(page))


def get_anchors(page):
    """The anchors of headings as renderers of Markdown make them: lower case, letters, digits, `-` and `_`, with `-` for a space."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(get_text(page))}


def check_links(page):
    """The errors in the links of a page, and their number."""
    wrong, count = [], 0
    for link in LINK.findall(get_text(page)):
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


def check_paths(page, root):
    return [f"{page}: {path}: no such file" for path in PATH.findall(get_text(page)) if not os.path.exists(os.path.join(root, path))]


def check_names(page, words):
    return [f"{page}: {name}: not in the sources" for name in NAME.findall(get_text(page)) if name not in words]


def check_howto(page, root):
    """A page has a section `Files` with "At most N files." and a table: a file to touch, and, where it is new (its path
    has `<name>` in it), an existing one to follow."""
    _, _, section = read(page).partition("\n## Files\n")
    section = section.partition("\n## ")[0]
    limit = re.search(r"^At most (\d+) files\.$", section, re.M)
    lines = [line for line in section.splitlines() if re.match(r"\|\s*`", line)]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    if not limit or not rows:
        return [f"{page}: no section \"Files\" with \"At most N files.\" and a table of them"]
    wrong = []
    if len(rows) > int(limit[1]):
        wrong.append(f"{page}: {len(rows)} files in the table where at most {limit[1]} are said")
    for file, follow, *_ in rows:
        existing = follow if "<" in file else file
        if not existing or not os.path.isfile(os.path.join(root, existing)):
            wrong.append(f"{page}: {file}: " + ("no such file" if existing == file else f"no file to follow at \"{follow}\""))
    index = os.path.join(os.path.dirname(page), "README.md")
    if f"({os.path.basename(page)})" not in read(index):
        wrong.append(f"{index}: {os.path.basename(page)} is not in it")
    return wrong


def main(root):
    pages = list(find_files(root, ".md"))
    words = {word for path in find_files(root, SOURCES) for word in re.findall(r"[A-Za-z_]\w+", read(path))}
    wrong, count = [], 0
    for page in pages:
        in_links, links = check_links(page)
        count += links
        wrong += in_links + check_paths(page, root)
        if os.path.join("docs", "design") in page:
            wrong += check_names(page, words)
        if os.path.join("docs", "howto") in page and os.path.basename(page) != "README.md":
            wrong += check_howto(page, root)
    print(f"{len(pages)} pages, {count} links, {len(words)} words of the sources")
    sys.exit("\n".join(wrong) if wrong or count == 0 else 0)


main(sys.argv[1])
