"""The store of an inviter: its codes, which of them got tokens, and its statement after closing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from incrowd.collection.inviter.signing import PrivateTokenKey
from incrowd.collection.mixer.store.database import Database, forget
from incrowd.collection.mixer.store.keys import Secrets, StoreError, database_errors
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.tokens import TokenRequest

MOST_ANSWERS = 20  # to one request

OPEN, CLOSED, ACKNOWLEDGED, DISPOSED = "open", "closed", "acknowledged", "disposed"

metadata = MetaData()
# start: signature and statement, as sent; from closing to disposal.
states = Table(
    "state",
    metadata,
    Column("state", Text, primary_key=True),
    Column("start", LargeBinary),
)
# tag: of the code. request: the id of the request that got tokens. answers: how often.
codes = Table(
    "codes",
    metadata,
    Column("tag", LargeBinary, primary_key=True),
    Column("request", LargeBinary),
    Column("answers", Integer, nullable=False),
    sqlite_with_rowid=False,
)


# The outcome of each request of a group: a pure function, in the order of the protocol's table.


class SigningDecision(Enum):
    """The decision about a request: whether it is signed, or the problem that is returned."""

    SIGN = "sign"
    CLOSED = "closed"
    CODE_UNKNOWN = "code-unknown"
    CODE_USED = "code-used"
    TOO_OFTEN = "too-often"
    TOKEN = "token"  # some value is not below its modulus


@dataclass(frozen=True)
class PreparedRequest:
    """A request, prepared for the store. tag: the tag of its code; id: the id of all its bytes.

    in_range: whether all values are below their moduli.
    """

    tag: bytes = field(repr=False)
    id: bytes = field(repr=False)
    in_range: bool


@dataclass(frozen=True)
class CodeState:
    """The state of a code: the id of the request that got its tokens, and how often."""

    request: bytes | None = field(default=None, repr=False)
    answers: int = 0


def decide(
    requests: Iterable[PreparedRequest], before: Mapping[bytes, CodeState]
) -> tuple[list[SigningDecision], dict[bytes, CodeState]]:
    """Return the decision about each request, given those before it, and the codes that changed.

    before: the state of each existing code.
    """
    decisions, changed = [], dict[bytes, CodeState]()
    for request in requests:
        code = changed.get(request.tag) or before.get(request.tag)
        decision = _of_one(request, code)
        if code and decision is SigningDecision.SIGN:
            changed[request.tag] = CodeState(request.id, code.answers + 1)
        decisions.append(decision)
    return decisions, changed


def _of_one(request: PreparedRequest, code: CodeState | None) -> SigningDecision:
    if code is None:
        return SigningDecision.CODE_UNKNOWN
    if code.request not in (None, request.id):
        return SigningDecision.CODE_USED
    if code.answers >= MOST_ANSWERS:
        return SigningDecision.TOO_OFTEN
    return SigningDecision.SIGN if request.in_range else SigningDecision.TOKEN


class InviterStore(Database):
    """The store of an inviter, with the private keys of tokens.

    keys: the keys of the entry, then of each message; None while the store is not unlocked, and
    after they were destroyed.
    """

    kind, other_kind = "an inviter", "collection.database-not-of-inviter"
    metadata = metadata
    bundle: MixersBundle
    keys: Sequence[PrivateTokenKey] | None = None

    @classmethod
    def _begin_with(cls, connection: Connection, bundle: Bundle) -> None:
        connection.execute(insert(states).values(state=OPEN))

    def _secrets(self) -> Secrets:
        if self.secrets is None:
            raise StoreError.of("secret", "collection.secret-after-closing")
        return self.secrets

    # --- invitations and requests ----------------------------------------------------------------

    def invite(self, invitations: Iterable[bytes]) -> None:
        """Add unused codes, in the order of their tags. Raises StoreError after closing."""
        new = sorted(map(self._secrets().code_tag, invitations))
        with self._writing() as connection:
            if self._state(connection) != OPEN:
                raise StoreError.of("bundle", "collection.no-more-invitations")
            connection.execute(insert(codes), [{"tag": tag, "answers": 0} for tag in new])

    def issued(self) -> int:
        """Return the number of codes."""
        with self._reading() as connection:
            return self._count(connection)[0]

    def prepare(self, request: TokenRequest) -> PreparedRequest:
        """Prepare a request for the store. This computes no root."""
        secrets, moduli = self._secrets(), self.bundle.token_keys
        pairs = zip(request.blinded, moduli, strict=True)
        in_range = all([int.from_bytes(value) < key.modulus for value, key in pairs])
        id = secrets.upload_id(request.encoded(self.bundle))
        return PreparedRequest(secrets.code_tag(request.code), id, in_range)

    def take(self, requests: Sequence[PreparedRequest]) -> list[SigningDecision]:
        """Decide about a group of requests; what is decided is durable when this returns."""
        tags = sorted({request.tag for request in requests})
        query = select(codes).where(codes.c.tag.in_(tags)).order_by(codes.c.tag)
        with self._writing() as connection:
            if self._state(connection, alone=False) != OPEN:
                return [SigningDecision.CLOSED] * len(requests)
            rows = connection.execute(query.with_for_update())
            before = {
                bytes(tag): CodeState(id if id is None else bytes(id), answers)
                for tag, id, answers in rows
            }
            decisions, changed = decide(requests, before)
            if changed:
                values = [
                    {"of": tag, "request": code.request, "answers": code.answers}
                    for tag, code in sorted(changed.items())
                ]
                these = codes.c.tag == bindparam("of")
                connection.execute(update(codes).where(these), values)
            return decisions

    # --- closing ---------------------------------------------------------------------------------

    def state(self) -> str:
        """Return whether the collection is open, closed, acknowledged or disposed of."""
        with self._reading() as connection:
            return str(connection.scalar(select(states.c.state)))

    def start(self) -> bytes:
        """Return signature and statement of a closed collection."""
        with self._reading() as connection:
            return bytes(connection.scalar(select(states.c.start)) or b"")

    def close(self, statement: Callable[[int, int], bytes]) -> None:
        """Store the statement about the codes, unless there is one. No request is taken any more.

        statement: returns what is signed, given how many codes were issued and used.
        """
        with self._writing() as connection:
            if self._state(connection) == OPEN:
                start = statement(*self._count(connection))
                connection.execute(update(states).values(state=CLOSED, start=start))

    def acknowledge(self) -> None:
        """Record that the collector has the statement."""
        with self._writing() as connection:
            closed = states.c.state == CLOSED
            connection.execute(update(states).where(closed).values(state=ACKNOWLEDGED))

    def dispose(self) -> None:
        """Delete the statement as well."""
        with self._writing() as connection:
            connection.execute(update(states).values(state=DISPOSED, start=None))

    def forget(self) -> None:
        """Delete the codes, which are unreadable once the keys are destroyed."""
        self.secrets = self.keys = None
        with self._writing() as connection:
            connection.execute(delete(codes))
        with database_errors():
            forget(self.engine, (codes,))

    # --- transactions ----------------------------------------------------------------------------

    @staticmethod
    def _state(connection: Connection, alone: bool = True) -> str:
        """Return the state, and keep it from being changed until this transaction ends.

        alone: also keep other transactions from taking requests.
        """
        return str(connection.scalar(select(states.c.state).with_for_update(read=not alone)))

    @staticmethod
    def _count(connection: Connection) -> tuple[int, int]:
        """Return how many codes were issued, and how many got tokens."""
        query = select(func.count(), func.count(codes.c.request)).select_from(codes)
        issued, used = connection.execute(query).one()
        return issued, used
