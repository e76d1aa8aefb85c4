"""Writes ideographs.ttc, two fonts of one ideograph each: python make.py FOLDER, the folder `files` of the npm package @fontsource/noto-sans-sc 5.

Needs fonttools and brotli. The fonts are subsets of Noto Sans SC, under the SIL Open Font License 1.1 (LICENSE.txt)."""

import io
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

#: The character of each font, and its file in the package.
LETTERS = {"文": 118, "中": 119}


def smallest(folder: Path, letter: str, part: int) -> TTFont:
    """Return a font with one character."""
    font = TTFont(folder / f"noto-sans-sc-{part}-400-normal.woff2")
    options = subset.Options(layout_features=[], hinting=False, name_IDs=[1, 2, 6], notdef_outline=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=letter)
    subsetter.subset(font)
    font.flavor = None
    font["name"].setName("Lowland Test Ideographs", 1, 3, 1, 0x409)
    font["name"].setName(f"LowlandTest-{ord(letter):04X}", 6, 3, 1, 0x409)
    packed = io.BytesIO()
    font.save(packed)
    return TTFont(io.BytesIO(packed.getvalue()))


collection = TTCollection()
collection.fonts = [smallest(Path(sys.argv[1]), letter, part) for letter, part in LETTERS.items()]
collection.save(Path(__file__).parent / "ideographs.ttc", shareTables=False)
