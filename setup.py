"""Leave the modules that incrowd-accountant contains out of incrowd, which depends on it."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ACCOUNTANT = Path(__file__).parent / "packages" / "accountant" / "src" / "incrowd"
SHARED = {file.stem for file in ACCOUNTANT.glob("*.py")}


class OtherModules(build_py):
    """The modules that are not in the other distribution; `pyproject.toml` leaves out packages."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Return the package, the name, and the file of each module of a package."""
        modules = super().find_package_modules(package, package_dir)
        return [each for each in modules if package != "incrowd" or each[1] not in SHARED]


setup(cmdclass={"build_py": OtherModules})
