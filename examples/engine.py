"""A decision engine for `--engine "command:python3 examples/engine.py"`, in a few lines.

It reads one request from standard input and writes one response to standard output. This one
knows nothing, so it answers what someone who knows nothing should: even odds.
"""

import json
import sys

VERSION = "1"


def answer(question: dict) -> dict:
    """Return an answer of the question's kind, with the same weight on everything."""
    if question["kind"] == "choice":
        options = list(question["options"])
        even = {option: 1 / len(options) for option in options}
        return {"kind": "choice", "choice": options[0], "probabilities": even}
    if question["kind"] == "score":
        levels = len(question["levels"])
        even = {str(level): 1 / levels for level in range(levels)}
        return {"kind": "score", "score": (levels - 1) / 2, "probabilities": even}
    return {"kind": "noul", "noul": 0.5}


request = json.load(sys.stdin)
answers = {question["id"]: answer(question) for question in request["questions"]}
response = {"request_id": request["request_id"], "version": VERSION, "answers": answers}
json.dump(response, sys.stdout)
