"""Who one is to a partner: an Ed25519 key, and the *card* that names it.

The key is made once and never leaves the state folder. The card is a self-signed certificate; it holds a name
and the public key, no secret, and is handed to the partner by mail or on a stick. Whoever takes a card reads
its fingerprint to the partner over the phone: a card that was exchanged on the way has another one.

Both are kept in the state (state/installation.py): the key, then the card.

A card is no authority: it vouches for itself alone and lasts five years. Its extensions satisfy the strict
checks of RFC 5280 that newer Pythons switch on by default.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import DamagedError, TrustError, UnreadableError, UsageError
from accord.state.folder import State
from accord.state.installation import keep_identity, read_identity

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

YEARS = 5
_MOST_BYTES = 1 << 14
_NAME_BYTES = 64
_BEGIN_CARD = b"-----BEGIN CERTIFICATE-----"
_PROBE = b"accord probe 1\n"
_RENEW = "Make a new one with `accord identity --renew` and hand the new card to your partners."


@dataclass(frozen=True, repr=False)
class Card:
    """A certificate that names a party: public."""

    name: str
    pem: bytes
    der: bytes
    begins: datetime
    ends: datetime

    def __repr__(self) -> str:
        return f"<Card: {self.name}, fingerprint {self.fingerprint}, valid to {self.ends:%Y-%m-%d}>"

    @property
    def fingerprint(self) -> str:
        """100 bits of the card's digest, in five groups that can be read out."""
        letters = base64.b32encode(hashlib.sha256(self.der).digest())[:20].decode()
        return "-".join(letters[at : at + 4] for at in range(0, 20, 4))


def make_identity(state: State, name: str, now: datetime) -> Card:
    """A new key with its card, stored; a former one is replaced.

    *Learns*: nobody anything; the card may be public.
    """
    require_name(name)
    content, card = draw_identity(name, now)
    keep_identity(state.store, content)
    return card


def draw_identity(name: str, now: datetime) -> tuple[bytes, Card]:
    """An identity, which is a new key with its card; and the card."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    pem = _certificate(key, name, now).public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return secret + pem, parse_card(pem, Path(name))


def require_name(name: str) -> None:
    """Raise unless a card can call its owner so."""
    if (
        not 0 < len(name.encode(errors="replace")) <= _NAME_BYTES
        or not name.isprintable()
        or name != name.strip()
    ):
        raise UsageError(problem="A card names its owner in 1 to 64 printable bytes. Choose another name.")


def own_card(state: State) -> Card | None:
    """The card of this installation; None before `make_identity`."""
    content = read_identity(state.store)
    return None if content is None else require_whole(content, state.store.path)


def require_whole(identity: bytes, path: Path) -> Card:
    """The card of an identity; raises unless the key in it is that of the card."""
    try:
        card = parse_card(identity[identity.find(_BEGIN_CARD) :], path)
        verify(card, signer(identity)(_PROBE), _PROBE)
    except (TrustError, ValueError, TypeError):
        raise DamagedError(
            path=path, reason="it does not hold a card and its key", mend=f"Restore it from a copy. {_RENEW}"
        ) from None
    return card


def require_own_card(state: State, now: datetime) -> Card:
    """The card of this installation, or what to do to have one."""
    card = own_card(state)
    if card is None:
        raise TrustError(
            problem="You have no identity yet.",
            mend="Make one with `accord identity --name YOURS` and hand the card to your partner.",
        )
    if not card.begins <= now <= card.ends:
        raise TrustError(problem=f"Your own card is valid {_span(card)} only.", mend=_RENEW)
    return card


def require_identity(state: State) -> bytes:
    """Key and card. *Requires*: they were made."""
    content = read_identity(state.store)
    assert content is not None
    return content


def require_valid(card: Card, partner: str, now: datetime) -> None:
    """Raise if the partner's card is out of its time."""
    if not card.begins <= now <= card.ends:
        raise TrustError(
            problem=f"The card of {partner} is valid {_span(card)} only.",
            mend="Ask for a new one and take it with `accord partner add`.",
        )


def read_card(path: Path) -> Card:
    """A card from a file that somebody handed over."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableError(path=path, reason=error.strerror, mend="Name the partner's card.") from None
    if b"PRIVATE KEY" in content:
        raise TrustError(
            problem=f"{path} holds a private key, which nobody but its owner may have.",
            mend="Ask the partner for its card, and for a new identity.",
        )
    return parse_card(content, path)


def card_from_der(der: bytes, path: Path) -> Card:
    """The card in the bytes that TLS shows; raises TrustError if it is none."""
    import ssl

    return parse_card(ssl.DER_cert_to_PEM_cert(der).encode(), path)


def parse_card(pem: bytes, path: Path) -> Card:
    """The card in these bytes; `path` is where they came from."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    try:
        if len(pem) > _MOST_BYTES:
            raise ValueError("too long")
        (found,) = x509.load_pem_x509_certificates(pem)
        found.verify_directly_issued_by(found)
        names = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        if not isinstance(found.public_key(), Ed25519PublicKey) or len(names) != 1:
            raise ValueError("not a card")
        name = str(names[0].value)
        if not name.isprintable() or len(name) > _NAME_BYTES:
            raise ValueError("not a name")
    except Exception:
        # Whatever the parser did not like, the answer for the reader is the same.
        raise TrustError(
            problem=f"{path} is not a card of Accord, or it was changed on the way.",
            mend="Ask the partner to run `accord identity` and to send the file that it writes.",
        ) from None
    der = found.public_bytes(Encoding.DER)
    clean = found.public_bytes(Encoding.PEM)
    return Card(name, clean, der, found.not_valid_before_utc, found.not_valid_after_utc)


def _certificate(key: object, name: str, now: datetime) -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    assert isinstance(key, Ed25519PrivateKey)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    begins = now.astimezone(UTC).replace(microsecond=0)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Clocks differ: a card is good a day before it was made.
        .not_valid_before(begins - timedelta(days=1))
        .not_valid_after(begins + timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
        .add_extension(x509.SubjectAlternativeName([x509.DirectoryName(subject)]), critical=False)
        .sign(key, None)
    )


def _span(card: Card) -> str:
    return f"from {card.begins:%Y-%m-%d} to {card.ends:%Y-%m-%d}"


def sign(state: State, content: bytes) -> bytes:
    """A signature with the key of this installation."""
    return signer(require_identity(state))(content)


def signer(identity: bytes) -> Callable[[bytes], bytes]:
    """What signs with the key of an identity; raises ValueError if it has none."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(identity, None)
    except UnsupportedAlgorithm:
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("not a key of Accord")
    return key.sign


def verify(card: Card, signature: bytes, content: bytes) -> None:
    """Raise ValueError unless the owner of the card signed this."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.x509 import load_der_x509_certificate

    key = load_der_x509_certificate(card.der).public_key()
    assert isinstance(key, Ed25519PublicKey)
    try:
        key.verify(signature, content)
    except InvalidSignature:
        raise ValueError("a signature that does not fit") from None
