"""A wheel with the command and the shared library inside, which make builds at the top of the
project."""

import os, re, shutil, subprocess
from pathlib import Path
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
BUILT = ["build/hogring", "build/release/libhogring.so.0"]
OUT = TOP / "build" / "python"  # what setuptools writes on its way


def make():
    if not (TOP / "Makefile").exists():
        raise SystemExit(
            "hogring is built from a clone of the whole project: pip install ./src/python"
        )
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MAKE") and name != "MFLAGS"
    }
    if subprocess.run(
        ["make", f"-j{len(os.sched_getaffinity(0))}", *BUILT], cwd=TOP, env=env
    ).returncode:
        raise SystemExit(
            "make failed, see above; `make deps` at the top of the project says what is missing"
        )


class WithBinaries(build_py):
    def run(self):
        super().run()
        make()
        folder = (
            Path(
                self.get_package_dir("hogring")
                if self.editable_mode
                else os.path.join(self.build_lib, "hogring")
            )
            / "built"
        )
        folder.mkdir(parents=True, exist_ok=True)
        for name in BUILT:
            target = folder / Path(name).name
            target.unlink(missing_ok=True)  # it may be running
            shutil.copy2(TOP / name, target)
            if shutil.which("strip"):
                subprocess.run(["strip", "--strip-unneeded", target], check=True)


class ForAnyPython(bdist_wheel):
    """The binaries are of this platform, and call no Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Binary(Distribution):
    def has_ext_modules(self):
        return True


version = (
    re.search(r"^VERSION := (.+)$", (TOP / "Makefile").read_text(), re.M)[1]
    if (TOP / "Makefile").exists()
    else "0"
)
(OUT / "info").mkdir(parents=True, exist_ok=True)
setup(
    version=version,
    distclass=Binary,
    cmdclass={"build_py": WithBinaries, "bdist_wheel": ForAnyPython},
    options={"build": {"build_base": str(OUT)}, "egg_info": {"egg_base": str(OUT / "info")}},
)
