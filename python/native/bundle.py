# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the shared libraries that a wheel's library needs beside it: `bundle.py FOLDER`.

Each gets a name of its own, with a hash, so that it is not taken for another library of a process that is called the same; the C library and its
parts, which every Linux has, stay where they are. Their licenses go into the folder `licenses`.
"""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|linux-vdso)\.so")
# The newest symbols of the C library that the tag of the wheel allows.
GLIBC = (2, 36)


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def find_needed(path):
    """The libraries that a file needs, directly, with their places."""
    needed = set(run("patchelf", "--print-needed", path).split())
    places = dict(re.findall(r"(\S+) => (\S+) \(", run("ldd", path)))
    return {name: places[name] for name in needed if not SYSTEM.match(name)}


def copy_license(source, folder):
    """Debian's statement of the license of a library."""
    # ldd names places below /lib, dpkg those below /usr/lib.
    real = pathlib.Path(source).resolve()
    for place in (str(real), str(real).removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", place], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        if found:
            package = found.split(":")[0]
            shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")
            return
    sys.exit(f"bundle.py: no package has {source}")


def bundle(folder):
    licenses = folder / "licenses"
    licenses.mkdir(exist_ok=True)
    names, todo = {}, [folder / "libmeshwright.so", folder / "meshwright-ld"]
    while todo:
        file = todo.pop()
        for name, place in find_needed(str(file)).items():
            if name == "libmeshwright.so":
                continue
            if name not in names:
                content = pathlib.Path(place).read_bytes()
                stem, _, rest = name.partition(".so")
                copy = folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:8]}.so{rest}"
                copy.write_bytes(content)
                copy.chmod(0o755)
                run("strip", "--strip-unneeded", str(copy))
                run("patchelf", "--set-soname", copy.name, "--set-rpath", "$ORIGIN", str(copy))
                copy_license(place, licenses)
                names[name] = copy.name
                todo.append(copy)
            run("patchelf", "--replace-needed", name, names[name], str(file))
    for package in ("llvm-22-dev", "libmlir-22-dev", "liblld-22-dev"):
        shutil.copy(f"/usr/share/doc/{package}/copyright", licenses / f"{package}.txt")
    for file in folder.iterdir():
        if file.is_file():
            check(file)


def check(file):
    """Ends where a file needs a newer C library than the tag of the wheel says, or anything that is not beside it."""
    for found in re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("objdump", "-T", str(file))):
        if tuple(map(int, found)) > GLIBC:
            sys.exit(f"bundle.py: {file.name} needs glibc {'.'.join(found)}")
    for name, place in find_needed(str(file)).items():
        if pathlib.Path(place).resolve().parent != file.resolve().parent:
            sys.exit(f"bundle.py: {file.name} takes {name} from {place}")


if __name__ == "__main__":
    bundle(pathlib.Path(sys.argv[1]))
