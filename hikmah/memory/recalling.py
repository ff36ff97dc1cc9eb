"""Recall through the door: the question, its moment, the receipt."""

from __future__ import annotations

from hikmah.index.database import Index
from hikmah.memory.desk import Desk
from hikmah.memory.moments import moment
from hikmah.model import policy as policies
from hikmah.views.recall import recall as recall_view
from hikmah.views.results import Query, RecallReply, with_receipt


def recall(desk: Desk, query: Query, *, as_of: str | int | None) -> RecallReply:
    """Answer a question; see `Memory.recall`."""

    def question(index: Index) -> RecallReply:
        with moment(desk, index, as_of) as at:
            corpus = at.asked.corpus(at.cut)
            recalled = recall_view(corpus, query, desk.policy, now_ms=at.now_ms)
            return with_receipt(
                recalled,
                ledger=index.ledger or "",
                head=at.head,
                policy=policies.digest(desk.policy),
                now_ms=at.now_ms,
            )

    return desk.answer(question)
