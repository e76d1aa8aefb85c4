"""Makes the embedded fonts from their npm packages (see README.md). Needs: pip install fonttools brotli; npm."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

HERE = Path(__file__).parent
#: Latin with Vietnamese, combining accents, Greek, Cyrillic, punctuation, super- and subscripts, currency, arrows, mathematics, shapes.
EUROPEAN = (
    "U+0020-007E,U+00A0-024F,U+0259,U+02C6-02DD,U+0300-0304,U+0306-030C,U+0323,U+0326-0328,U+0370-03FF,U+0400-04FF,U+1E80-1E85,U+1E9E,"
    "U+1EA0-1EF9,U+2010-2015,U+2018-2022,U+2026,U+2030,U+2032-2033,U+2039-203A,U+2044,U+2070-2079,U+207F-2089,U+20A0-20BF,"
    "U+2116,U+2122,U+2190-2193,U+2202,U+2206,U+220F,U+2211-2212,U+2215,U+221A,U+221E,U+222B,U+2248,U+2260,U+2264-2265,U+25A1,U+25CA,U+25CF"
)
#: Without their presentation forms, which the shaper does not need.
HEBREW = "U+0590-05FF"
ARABIC = "U+0600-06FF,U+0750-077F"
FONTS = [
    ("inter-ui@4.1.1", "web/Inter-Regular.woff2", "Inter-Regular", EUROPEAN),
    ("inter-ui@4.1.1", "web/Inter-SemiBold.woff2", "Inter-SemiBold", EUROPEAN),
    ("@fontsource/noto-sans-hebrew@5.3.0", "files/noto-sans-hebrew-hebrew-400-normal.woff2", "NotoSansHebrew-Regular", HEBREW),
    ("@fontsource/noto-sans-arabic@5.3.0", "files/noto-sans-arabic-arabic-400-normal.woff2", "NotoSansArabic-Regular", ARABIC),
]
FEATURES = ["ccmp", "locl", "kern", "mark", "mkmk", "init", "medi", "fina", "isol", "rlig", "liga", "calt"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for package, path, name, unicodes in FONTS:
            packed = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True)
            with tarfile.open(Path(folder) / packed.stdout.strip()) as archive:
                source = archive.extractfile(f"package/{path}")
                assert source is not None, path
                font = TTFont(source)
            # The alternates of Inter depend on the context (arrows, colons between digits) and are not for labels.
            features = [each for each in FEATURES if not (name.startswith("Inter") and each in ("calt", "liga"))]
            options = subset.Options(layout_features=features, hinting=False, notdef_outline=True, name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14])
            subsetter = subset.Subsetter(options)
            subsetter.populate(unicodes=subset.parse_unicodes(unicodes))
            subsetter.subset(font)
            font.flavor = None
            target = HERE / f"{name}.ttf"
            font.save(target, reorderTables=True)
            print(f"{target.name}: {len(font.getBestCmap())} characters, {target.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
