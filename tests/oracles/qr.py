"""A reader of pictures of QR codes, written from ISO/IEC 18004:2015.

It corrects nothing: a picture without damage has no errors, and the check words must show that.
"""

import base64
import re
import struct
import urllib.parse
import zlib

# Table 9 of the standard, versions 1 to 10: check words of a block, and blocks, by level.
TOTAL = (26, 44, 70, 100, 134, 172, 196, 242, 292, 346)
CHECK = {
    "L": (7, 10, 15, 20, 26, 18, 20, 24, 30, 18),
    "M": (10, 16, 26, 18, 24, 16, 18, 22, 22, 26),
    "Q": (13, 22, 18, 26, 18, 24, 18, 22, 20, 24),
    "H": (17, 28, 22, 16, 22, 28, 26, 26, 24, 28),
}
BLOCKS = {
    "L": (1, 1, 1, 1, 1, 2, 2, 2, 2, 4),
    "M": (1, 1, 1, 2, 2, 4, 4, 4, 5, 5),
    "Q": (1, 1, 2, 2, 4, 4, 6, 6, 8, 8),
    "H": (1, 1, 2, 4, 4, 4, 5, 6, 8, 8),
}
LEVELS = {0b01: "L", 0b00: "M", 0b11: "Q", 0b10: "H"}
FINDER = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
MASKS = (
    lambda i, j: (i + j) % 2 == 0,
    lambda i, j: i % 2 == 0,
    lambda i, j: j % 3 == 0,
    lambda i, j: (i + j) % 3 == 0,
    lambda i, j: (i // 2 + j // 3) % 2 == 0,
    lambda i, j: i * j % 2 + i * j % 3 == 0,
    lambda i, j: (i * j % 2 + i * j % 3) % 2 == 0,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2 == 0,
)


def read(rows):
    """The text, the level, and the white border of a picture: rows of modules, dark ones true."""
    dark = [(i, j) for i, row in enumerate(rows) for j, module in enumerate(row) if module]
    top, left = min(i for i, _ in dark), min(j for _, j in dark)
    bottom, right = max(i for i, _ in dark), max(j for _, j in dark)
    modules = [row[left : right + 1] for row in rows[top : bottom + 1]]
    border = min(top, left, len(rows) - 1 - bottom, len(rows[0]) - 1 - right)
    level, text = _read(modules)
    return text, level, border


def _read(modules):
    size = len(modules)
    version = (size - 17) // 4
    assert size == 17 + 4 * version == len(modules[0]) and 1 <= version <= 10
    for i, j in ((0, 0), (0, size - 7), (size - 7, 0)):
        corner = ["".join("01"[module] for module in row[j : j + 7]) for row in modules[i : i + 7]]
        assert corner == FINDER
    level, mask = _format(modules)
    bits = [
        modules[i][j] ^ MASKS[mask](i, j) for i, j in _places(size) if not _fixed(version, i, j)
    ]
    words = [
        sum(bit << 7 - n for n, bit in enumerate(bits[at : at + 8]))
        for at in range(0, 8 * TOTAL[version - 1], 8)
    ]
    return level, _text(b"".join(_blocks(words, version, level)), version)


def _format(modules):
    """The level and the mask, from the 15 bits beside the first corner."""
    places = [(i, 8) for i in (0, 1, 2, 3, 4, 5, 7, 8)] + [(8, j) for j in (7, 5, 4, 3, 2, 1, 0)]
    value = sum(modules[i][j] << n for n, (i, j) in enumerate(places)) ^ 0b101010000010010
    rest = value
    for bit in range(14, 9, -1):
        if rest >> bit & 1:
            rest ^= 0b10100110111 << bit - 10
    assert rest == 0, "the format has an error"
    return LEVELS[value >> 13], value >> 10 & 7


def _places(size):
    """The places of the bits: columns in pairs from the right, up and down in turn."""
    rights = [j for j in range(size - 1, 6, -2)] + [j for j in range(5, 0, -2)]
    for number, right in enumerate(rights):
        for i in range(size) if number % 2 else range(size - 1, -1, -1):
            yield from ((i, right), (i, right - 1))


def _fixed(version, i, j):
    """Whether a place belongs to a pattern, and not to the data."""
    size = 17 + 4 * version
    if (i < 9 and j < 9) or (i < 9 and j >= size - 8) or (i >= size - 8 and j < 9):
        return True
    if 6 in (i, j):
        return True
    if version >= 7 and ((i < 6 and j >= size - 11) or (j < 6 and i >= size - 11)):
        return True
    last = size - 7
    centers = [] if version == 1 else [6, last] if version < 7 else [6, (6 + last) // 2, last]
    corners = {(6, 6), (6, last), (last, 6)}
    return any(
        abs(i - a) <= 2 and abs(j - b) <= 2
        for a in centers
        for b in centers
        if (a, b) not in corners
    )


def _blocks(words, version, level):
    """The data of each block, whose check words must fit."""
    blocks, check = BLOCKS[level][version - 1], CHECK[level][version - 1]
    short, longer = divmod(len(words), blocks)
    sizes = [short + (n >= blocks - longer) - check for n in range(blocks)]
    parts, at = [[] for _ in sizes], 0
    for place in range(max(sizes)):
        for block, size in zip(parts, sizes, strict=True):
            if place < size:
                block.append(words[at])
                at += 1
    for number, word in enumerate(words[at:]):
        parts[number % blocks].append(word)
    for part, size in zip(parts, sizes, strict=True):
        assert not any(_at(part, power) for power in range(check)), "the check words do not fit"
        yield bytes(part[:size])


def _at(words, power):
    """The value of a block as a polynomial over the field of 256 elements, at 2^power."""
    value, root = 0, 1
    for _ in range(power):
        root = _times(root, 2)
    for word in words:
        value = _times(value, root) ^ word
    return value


def _times(a, b):
    product = 0
    while b:
        product ^= a * (b & 1)
        a = a << 1 ^ (0x11D if a & 128 else 0)
        b >>= 1
    return product


def _text(data, version):
    bits = "".join(f"{byte:08b}" for byte in data)
    assert bits[:4] == "0100", "one part, of bytes"
    width = 8 if version < 10 else 16
    length = int(bits[4 : 4 + width], 2)
    start = 4 + width
    return bytes(int(bits[at : at + 8], 2) for at in range(start, start + 8 * length, 8)).decode()


# Pictures as rows of modules.


def of_png(data):
    """The rows of a PNG file with one bit for each pixel, at the scale at which one pixel is a
    module."""
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and (depth, color) == (1, 0)
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    lines, stride = zlib.decompress(packed), (width + 7) // 8 + 1
    rows, above = [], bytes(stride - 1)
    for i in range(height):
        kind, line = lines[i * stride], lines[i * stride + 1 : (i + 1) * stride]
        assert kind in (0, 2), "a line as it is, or as its difference from the one above"
        if kind == 2:
            line = bytes((a + b) % 256 for a, b in zip(line, above, strict=True))
        above = line
        bits = "".join(f"{byte:08b}" for byte in line)[:width]
        rows.append([bit == "0" for bit in bits])
    return _at_one_pixel(rows)


def _at_one_pixel(rows):
    """The same picture with one pixel for each module: the first corner has seven in a row."""
    first = next(row for row in rows if any(row))
    begin = first.index(True)
    scale = first[begin:].index(False) // 7
    return [row[scale // 2 :: scale] for row in rows[scale // 2 :: scale]]


def of_svg(address):
    """The rows of an SVG file in a data address, whose path has a line for each run of modules."""
    head, _, content = address.partition(",")
    assert head.startswith("data:image/svg+xml")
    svg = (
        base64.b64decode(content).decode()
        if head.endswith("base64")
        else urllib.parse.unquote(content)
    )
    side = int(re.search(r"viewBox=.0 0 (\d+) \1", svg)[1])
    rows = [[False] * side for _ in range(side)]
    paths = re.findall(r"<path[^>]*stroke=.#000.[^>]*>", svg)
    (path,) = [each for each in paths if " d=" in each or "\td=" in each]
    x = y = 0.0
    for kind, first, second in re.findall(r"([Mmh])(-?[\d.]+)(?:[ ,](-?[\d.]+))?", path):
        if kind == "h":
            for j in range(int(x), int(x + float(first))):
                rows[int(y)][j] = True
            x += float(first)
        elif kind == "M":
            x, y = float(first), float(second)
        else:
            x, y = x + float(first), y + float(second or 0)
    return rows
