"""ML-KEM-768 (FIPS 203): encapsulation with chosen random bytes, which libraries do not offer."""

from hashlib import sha3_256, sha3_512, shake_128, shake_256
from itertools import count

N, Q, K = 256, 3329, 3
ETA, DU, DV = 2, 10, 4


def reversed_bits(number):
    return int(f"{number:07b}"[::-1], 2)


ZETAS = [pow(17, reversed_bits(i), Q) for i in range(128)]
GAMMAS = [pow(17, 2 * reversed_bits(i) + 1, Q) for i in range(128)]


def transformed(f):
    """Algorithm 9, the number-theoretic transform."""
    f, zetas = list(f), iter(ZETAS[1:])
    for length in (128, 64, 32, 16, 8, 4, 2):
        for start in range(0, N, 2 * length):
            zeta = next(zetas)
            for j in range(start, start + length):
                t = zeta * f[j + length] % Q
                f[j], f[j + length] = (f[j] + t) % Q, (f[j] - t) % Q
    return f


def restored(f):
    """Algorithm 10, its inverse."""
    f, zetas = list(f), iter(ZETAS[:0:-1])
    for length in (2, 4, 8, 16, 32, 64, 128):
        for start in range(0, N, 2 * length):
            zeta = next(zetas)
            for j in range(start, start + length):
                f[j], f[j + length] = (f[j] + f[j + length]) % Q, zeta * (f[j + length] - f[j]) % Q
    return [x * 3303 % Q for x in f]


def times(f, g):
    """Algorithms 11 and 12, the product of transformed polynomials."""
    h = []
    for i, gamma in enumerate(GAMMAS):
        (a, b), (c, d) = f[2 * i : 2 * i + 2], g[2 * i : 2 * i + 2]
        h += [(a * c + b * d * gamma) % Q, (a * d + b * c) % Q]
    return h


def added(*many):
    return [sum(each) % Q for each in zip(*many, strict=True)]


def uniform(seed):
    """Algorithm 7, a transformed polynomial from 34 bytes."""
    data, found = shake_128(seed).digest(3 * N * 2), []
    for at in range(0, len(data), 3):
        a, b, c = data[at : at + 3]
        found += [d for d in (a + 256 * (b % 16), b // 16 + 16 * c) if d < Q]
    assert len(found) >= N
    return found[:N]


def centered(seed):
    """Algorithm 8 for eta = 2."""
    bits = int.from_bytes(shake_256(seed).digest(64 * ETA), "little")

    def total(at):
        return (bits >> at & 1) + (bits >> at + 1 & 1)

    return [(total(4 * i) - total(4 * i + 2)) % Q for i in range(N)]


def packed(numbers, width):
    return sum(n << width * i for i, n in enumerate(numbers)).to_bytes(N * width // 8, "little")


def unpacked(data, width):
    number = int.from_bytes(data, "little")
    return [number >> width * i & ((1 << width) - 1) for i in range(N)]


def compressed(f, width):
    return packed([((x << width) + Q // 2) // Q % (1 << width) for x in f], width)


def encapsulated(public, random):
    """The ciphertext and the secret, from a public key and 32 random bytes (algorithm 17)."""
    secret, coins = split(sha3_512(random + sha3_256(public).digest()).digest())
    rho = public[384 * K :]
    t = [unpacked(public[384 * i : 384 * (i + 1)], 12) for i in range(K)]
    nonce = count()
    y = [transformed(centered(coins + bytes([next(nonce)]))) for _ in range(K)]
    e = [centered(coins + bytes([next(nonce)])) for _ in range(K)]
    e2 = centered(coins + bytes([next(nonce)]))
    a = [[uniform(rho + bytes([j, i])) for j in range(K)] for i in range(K)]
    u = [added(restored(added(*(times(a[j][i], y[j]) for j in range(K)))), e[i]) for i in range(K)]
    message = [(Q + 1) // 2 * bit for bit in unpacked(random, 1)]
    v = added(restored(added(*(times(t[j], y[j]) for j in range(K)))), e2, message)
    return b"".join(compressed(each, DU) for each in u) + compressed(v, DV), secret


def split(data):
    return data[:32], data[32:]
