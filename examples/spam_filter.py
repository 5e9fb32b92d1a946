"""A spam filter that lives: it learns message by message, unlearns, merges, says "unsure", and is one small file.

    python examples/spam_filter.py                       # on 600 messages that come with the example
    python examples/spam_filter.py --data sms-spam.csv   # on a CSV file with the columns text and target

Every message is first judged and then learnt, so that the accuracy and the log-loss that are printed are those of a
filter that never saw the message before (test, then train).
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from naively import NaiveBayes, load
from naively._scoring.explanation import as_text
from naively.families import Text

EXCERPT = Path(__file__).parent / "data" / "sms-spam-600.csv"
CLASSES = ["ham", "spam"]
REJECT_COST = 0.05
"""A question to the user costs a twentieth of a wrong answer: the filter asks where it is less than 95 % sure."""


@dataclass(frozen=True)
class Message:
    text: str
    label: str


@dataclass
class Judgement:
    """What a filter has achieved on messages that it had not seen."""

    n: int = 0
    right: int = 0
    loss: float = 0.0

    def add(self, probability: float) -> None:
        """Count a message whose right label had this probability."""
        self.n += 1
        self.right += probability > 0.5
        self.loss -= math.log(max(probability, 1e-15))

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    @property
    def log_loss(self) -> float:
        return self.loss / self.n

    def __str__(self) -> str:
        return f"{self.n:6d} messages   accuracy {self.accuracy:.4f}   log-loss {self.log_loss:.4f}"


def new_filter(n_messages: int) -> NaiveBayes:
    """A filter that has learnt nothing. It keeps its messages, so that it can weigh its evidence later on."""
    return NaiveBayes(
        "textbook",
        families={"message": Text(words=1)},
        smoothing=0.1,
        prior_smoothing=1,  # a class without any message yet is improbable, not impossible
        kept_rows=max(n_messages, 1),
    )


def table(messages: list[Message]) -> dict[str, list[str]]:
    return {"message": [message.text for message in messages]}


def labels(messages: list[Message]) -> list[str]:
    return [message.label for message in messages]


def read_messages(path: Path) -> list[Message]:
    with path.open(newline="", encoding="utf-8") as lines:
        return [Message(row["text"], row["target"]) for row in csv.DictReader(lines)]


# -- what a filter lives through ------------------------------------------------------------------------------------


def live(spam_filter: NaiveBayes, messages: list[Message], every: int) -> Judgement:
    """Judge each message, then learn it."""
    judgement, start = Judgement(), time.perf_counter()
    for message in messages:
        one = table([message])
        if judgement.n == 0:
            judgement.add(1 / len(CLASSES))  # nothing is known yet
        else:
            judgement.add(spam_filter.predict_proba(one)[0, CLASSES.index(message.label)])
        spam_filter.partial_fit(one, [message.label], classes=CLASSES)
        if judgement.n % every == 0 or judgement.n == len(messages):
            print(f"{judgement}   {time.perf_counter() - start:5.1f} s", flush=True)
    return judgement


def unlearn(spam_filter: NaiveBayes, messages: list[Message]) -> None:
    """Forget messages one by one, as users ask for it."""
    for message in messages:
        spam_filter.forget(table([message]), [message.label])


def same(first: NaiveBayes, second: NaiveBayes) -> bool:
    """Whether two filters know the same, to the last bit."""
    return bool(first.statistics_ == second.statistics_)


def main(arguments: list[str] | None = None) -> dict[str, float | bool]:
    """Run the example; what it claims is returned, for those who want to check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=EXCERPT, help="a CSV file with the columns text and target")
    parser.add_argument("--unlearn", type=int, help="how many messages to unlearn; by default 500, at most a third")
    given = parser.parse_args(arguments)
    messages = read_messages(given.data)
    n = len(messages)
    n_unlearnt = min(500, n // 3) if given.unlearn is None else given.unlearn
    claims: dict[str, float | bool] = {}

    print(f"Learn {n} messages one at a time, each judged before it is learnt")
    spam_filter = new_filter(n)
    judgement = live(spam_filter, messages, every=max(n // 12, 1))
    claims |= {"accuracy": judgement.accuracy, "log_loss": judgement.log_loss}
    claims["stream equals batch"] = same(spam_filter, new_filter(n).fit(table(messages), labels(messages)))

    print("\nTwo users' filters, added up")
    first, second = (new_filter(n).fit(table(part), labels(part)) for part in (messages[: n // 2], messages[n // 2 :]))
    claims["merged equals both"] = same(first + second, spam_filter)
    print(f"one filter + another == a filter that learnt the messages of both: {claims['merged equals both']}")

    print(f"\nUnlearn {n_unlearnt} messages one at a time")
    gone, stays = messages[n - n_unlearnt :], messages[: n - n_unlearnt]
    unlearn(spam_filter, gone)
    claims["unlearnt equals never seen"] = same(spam_filter, new_filter(n).fit(table(stays), labels(stays)))
    print(f"the filter == one that has never seen them: {claims['unlearnt equals never seen']}")

    print("\nCalibrated without any data: the messages it has kept weigh their own evidence, each left out in turn")
    spam_filter.set_params(recipe="auto", prior_smoothing=None, smoothing=None)
    found = spam_filter.calibration_
    print(f"left out: accuracy {found.accuracy:.4f}   log-loss {found.log_loss:.4f}")
    claims |= {"calibrated accuracy": found.accuracy, "calibrated log_loss": found.log_loss}

    print(f"\nAsk if unsure: the {n_unlearnt} unlearnt messages, a question costs {REJECT_COST} of a wrong answer")
    answers = spam_filter.predict(table(gone), reject=REJECT_COST, reject_label="unsure").tolist()
    sure = [(answer, message.label) for answer, message in zip(answers, gone, strict=True) if answer != "unsure"]
    claims["share unsure"] = 1 - len(sure) / len(gone)
    claims["accuracy if sure"] = sum(answer == label for answer, label in sure) / len(sure)
    print(f"unsure: {claims['share unsure']:.1%}; of the others {claims['accuracy if sure']:.2%} are right")

    print("\nExport and import")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "filter.json"
        spam_filter.save(path)
        again = load(path)
        size = path.stat().st_size
    answered = (again.predict_proba(table(gone)) == spam_filter.predict_proba(table(gone))).all()
    claims["file equals filter"] = same(again, spam_filter) and bool(answered)
    print(f"{size / 1e6:.1f} MB; what was read back knows and answers the same: {claims['file equals filter']}")

    print("\nWhy")
    asked = [Message("Free entry! Text WIN to 80085 to claim your prize, 50p per msg", "spam")]
    print(as_text(again.explain(table(asked), tokens=6)))
    return claims


if __name__ == "__main__":
    main()
