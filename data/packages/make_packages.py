#!/usr/bin/env python3
"""Makes a sparse data set from the package descriptions that apt keeps on any Debian machine.

    python3 data/packages/make_packages.py packages.libsvm [SECTIONS]

One line a package, in the order of their names: +1 when its section is one of SECTIONS (comma
separated; default libs,libdevel,oldlibs), else -1; then the words of its description, lower case, two
letters or more, that at least two packages have, weighted by tf-idf, (1 + ln n) ln(N / d), and scaled
to unit length. Indices count from 1 in the order of the words. The same lists give the same file.
"""
import collections
import math
import re
import subprocess
import sys

WORD = re.compile(r"[a-z][a-z0-9+]+")


def packages():
    """{name: (section, words)} of everything `apt-cache dumpavail` tells; the last version wins."""
    found = {}
    dump = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, errors="replace", check=True).stdout
    for paragraph in dump.split("\n\n"):
        # A field's continuation lines begin with a blank; a long description is one.
        fields = dict(re.findall(r"^([A-Za-z-]+): ?(.*(?:\n[ \t].*)*)", paragraph, re.M))
        text = " ".join(value for name, value in fields.items() if name in ("Description", "Description-en"))
        if "Package" in fields and "Section" in fields and text:
            found[fields["Package"]] = fields["Section"].rsplit("/", 1)[-1], WORD.findall(text.lower())
    return found


def row(words, index, documents, total):
    weights = {index[w]: (1 + math.log(n)) * math.log(total / documents[w])
               for w, n in collections.Counter(words).items() if w in index}
    length = math.sqrt(sum(v * v for v in weights.values()))
    return " ".join(f"{i}:{v / length:.5f}" for i, v in sorted(weights.items()) if v > 0)


def main(path, sections="libs,libdevel,oldlibs"):
    wanted, found = set(sections.split(",")), packages()
    if not found:
        sys.exit("make_packages: apt-cache knows no packages here; `apt-get update` fetches the lists")
    documents = collections.Counter(w for _, words in found.values() for w in set(words))
    index = {w: i for i, w in enumerate(sorted(w for w, n in documents.items() if n > 1), 1)}
    positive = 0
    with open(path, "w") as out:
        for name in sorted(found):
            section, words = found[name]
            positive += section in wanted
            print("+1" if section in wanted else "-1", row(words, index, documents, len(found)), file=out)
    print(f"{path}: {len(found)} packages, {len(index)} words, {positive} of them in {sections}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
