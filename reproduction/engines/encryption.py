"""Paillier's additively homomorphic encryption (EUROCRYPT'99), on GMP.

    keys      n = p·q;  Enc(m) = (1 + m·n)·ρⁿ mod n², ρ uniform below n;  Enc(m)·Enc(m') is an Enc(m + m')
    opening   mod p² and q² apart, then by the Chinese remainder theorem (Paillier, §7)

Assumption: decisional composite residuosity. The known Python package (phe) draws randomness from a generator
of its own and carries the exponents of floating-point numbers; here randomness is an argument and a plaintext
is an integer mod n, which leaves these few lines.

Whole numbers of this size have no arrays, so there are lists of them; powers of a list are one library call,
which releases the interpreter. The owner of p and q makes ρⁿ mod p² and mod q² apart, in less time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.secure.party import Buffer

Number = Any
"""An `mpz` of gmpy2, which is imported where it is used."""

BITS = 2048
_ROUNDS = 40


@dataclass(frozen=True, eq=False, repr=False)
class PublicKey:
    """What encrypts; n has exactly `bits` bits."""

    n: Number
    bits: int

    @cached_property
    def square(self) -> Number:
        return self.n * self.n

    @property
    def size(self) -> int:
        """Bytes of a ciphertext."""
        return self.bits // 4

    def masks(self, count: int, entropy: Entropy) -> list[Number]:
        """Fresh ρⁿ: encryptions of zero, each for one use.

        Distribution: ρ within 2⁻¹²⁸ of uniform below n (it is prime to n but with negligible probability).
        """
        import gmpy2

        return gmpy2.powmod_base_list(self._below(count, entropy), self.n, self.square)

    def plain(self, value: int) -> Number:
        """An encryption of a value that hides nothing; times a mask it hides all."""
        return 1 + value % self.n * self.n

    def encrypt(self, values: Sequence[int], entropy: Entropy) -> list[Number]:
        """Fresh encryptions of values mod n."""
        masks = self.masks(len(values), entropy)
        return [self.plain(value) * mask % self.square for value, mask in zip(values, masks, strict=True)]

    def combine(
        self, ciphertexts: Sequence[Number], rows: Sequence[Sequence[int]], width: int
    ) -> list[Number]:
        """For each row of multipliers an encryption of Σ mᵢ·xᵢ, as traceable as its parts.

        *Requires* |mᵢ| < 2^width. The time tells nothing of them: moved up by one number, which is taken back
        for all at once, every multiplier has the same number of digits base four, each of them 1, 2, 3 or 4;
        and a digit is one multiplication with a power that lies ready, never with the short number 1.
        """
        import gmpy2

        digits = (width + 2) // 2
        move, ones = 1 << width, (4**digits - 1) // 3
        powers, product = [], gmpy2.mpz(1)
        for c in ciphertexts:
            product = product * c % self.square
            double = c * c % self.square
            powers.append((c, double, double * c % self.square, double * double % self.square))
        try:
            back = gmpy2.invert(gmpy2.powmod(product, move + ones, self.square), self.square)
        except ZeroDivisionError:
            raise PeerError(problem="a ciphertext that has no inverse") from None
        found = []
        for multipliers in rows:
            total = gmpy2.mpz(1)
            for place in reversed(range(digits)):
                chosen = [p[m + move >> 2 * place & 3] for p, m in zip(powers, multipliers, strict=True)]
                total = _times(gmpy2.powmod(total, 4, self.square), chosen, self.square)
            found.append(total * back % self.square)
        return found

    def to_wire(self, ciphertexts: Sequence[Number]) -> bytes:
        """Ciphertexts, each in whole bytes, lowest first."""
        return b"".join(int(c).to_bytes(self.size, "little") for c in ciphertexts)

    def from_wire(self, data: Buffer) -> list[Number]:
        """The inverse of `to_wire`; what lies outside the group is refused."""
        import gmpy2

        parts = [data[i : i + self.size] for i in range(0, len(data), self.size)]
        found = [gmpy2.mpz(int.from_bytes(part, "little")) for part in parts]
        if not all(0 < c < self.square for c in found):
            raise PeerError(problem="a ciphertext outside the group")
        return found

    def _below(self, count: int, entropy: Entropy) -> list[Number]:
        import gmpy2

        size = self.bits // 8 + 16
        data = entropy.bytes(count * size)
        return [
            gmpy2.mpz(int.from_bytes(data[i : i + size], "little")) % self.n
            for i in range(0, len(data), size)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class PrivateKey(PublicKey):
    """What decrypts."""

    p: Number
    q: Number

    @cached_property
    def _halves(self) -> tuple[tuple[Number, Number, Number], ...]:
        """For each prime: it, its square, and the inverse of L(gᵖ⁻¹)."""
        import gmpy2

        return tuple(
            (p, p * p, gmpy2.invert((gmpy2.powmod(1 + self.n, p - 1, p * p) - 1) // p, p))
            for p in (self.p, self.q)
        )

    def decrypt(self, ciphertexts: Sequence[Number]) -> list[int]:
        """The values mod n."""
        import gmpy2

        roots = []
        for p, square, inverse in self._halves:
            powers = [gmpy2.powmod_sec(c % square, p - 1, square) for c in ciphertexts]
            roots.append([(power - 1) // p * inverse % p for power in powers])
        back = gmpy2.invert(self.q, self.p)
        return [int(y + self.q * ((x - y) * back % self.p)) for x, y in zip(*roots, strict=True)]

    def masks(self, count: int, entropy: Entropy) -> list[Number]:
        """The very numbers of the public key: ρⁿ mod p² is (ρ^q mod p)ᵖ mod p²."""
        import gmpy2

        bases, parts = self._below(count, entropy), []
        for p, square, _ in self._halves:
            roots = [gmpy2.powmod_sec(b % p, self.n // p, p) for b in bases]
            parts.append([gmpy2.powmod_sec(root, p, square) for root in roots])
        (_, p2, _), (_, q2, _) = self._halves
        back = gmpy2.invert(q2, p2)
        return [y + q2 * ((x - y) * back % p2) for x, y in zip(*parts, strict=True)]


def _times(total: Number, factors: Sequence[Number], modulus: Number) -> Number:
    for factor in factors:
        total = total * factor % modulus
    return total


def new_key(bits: int, entropy: Entropy) -> PrivateKey:
    """A fresh key. Distribution: both primes uniform among those with their two highest bits set."""
    p = _prime(bits // 2, entropy)
    q = _prime(bits // 2, entropy)
    while q == p:
        q = _prime(bits // 2, entropy)
    return PrivateKey(p * q, bits, p, q)


def _prime(bits: int, entropy: Entropy) -> Number:
    import gmpy2

    while True:
        drawn = gmpy2.mpz(int.from_bytes(entropy.bytes(bits // 8), "little"))
        candidate = drawn | 3 << (bits - 2) | 1
        if gmpy2.is_prime(candidate, _ROUNDS):
            return candidate


def key_from_wire(data: bytes, bits: int) -> PublicKey:
    """The peer's key, refused unless it is odd and has the agreed length."""
    import gmpy2

    n = gmpy2.mpz(int.from_bytes(data, "little"))
    if n.bit_length() != bits or not n % 2:
        raise PeerError(problem=f"a key that has not {bits:,} bits")
    return PublicKey(n, bits)
