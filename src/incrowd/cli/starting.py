"""The commands to begin with: `new` asks about a survey, `example` writes one with answers."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

import incrowd
from incrowd.cli.completion import one_of
from incrowd.cli.console import (
    error_lines,
    print_json,
    print_line,
    printed_as_json,
    say,
    wants_json,
)
from incrowd.cli.options import AsJson, choice, make_folder, share
from incrowd.cli.words import DEVICES, EXAMPLES, PROTECTIONS, READY
from incrowd.errors import UsageError, quantity
from incrowd.files import is_stream, replaced, write_text

if TYPE_CHECKING:
    from incrowd.drafts.columns import DraftQuestion
    from incrowd.drafts.examples import PackagedExample
    from incrowd.survey.participation import Participation

Answer = TypeVar("Answer")

NAME, PEOPLE, EXPECTED, PROTECTION = "My survey", 1000, 0.5, "strong"

ABOUT = f"""\
1 of 4. What is the survey called? Press Enter for "{NAME}".
        Or type the name of a ready survey, with its questions:
        {", ".join(READY)}"""
ABOUT_INTERVIEWS = f'1 of 2. What is the survey called? Press Enter for "{NAME}".'
QUESTIONS_BY_HAND = """\
2 of 2. What do you want to ask? One question on each line, with its answers, such as
          Do you smoke? yes / no
          Which party did you vote for? red / green / blue
        An empty line ends the list."""
QUESTIONS = """\
2 of 4. What do you want to ask? One question on each line, with its answers, such as
          Do you smoke? yes / no
          How much stress do you have? low / medium / high
          Which of these do you use? (choose all that apply) alcohol / tobacco / cannabis
          How many days were you sick? 0-30
        An empty line ends the list."""
HOW_MANY = "3 of 4. How many people will you ask? Press Enter for {default:,}."
HOW_STRONG = (
    "4 of 4. How strong should the protection of each person be? Press Enter for {default}."
)


def new(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Survey to write; survey.toml by default.")
    ] = Path("survey.toml"),
    name: Annotated[str | None, typer.Option(help="Name of the survey.")] = None,
    ready: Annotated[
        str | None, choice("--ready", READY, f"Begin with a ready survey: {', '.join(READY)}.")
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(help='Question with its answers: "Do you smoke? yes / no"; repeatable.'),
    ] = None,
    people: Annotated[int | None, typer.Option(help="How many people you will ask.")] = None,
    expected: Annotated[
        float | None,
        share("--expected", "The share of them that will probably answer; 50% by default."),
    ] = None,
    protection: Annotated[
        str | None, choice("--protection", PROTECTIONS, "strong, moderate or weak.")
    ] = None,
    device: Annotated[
        str | None,
        choice("--device", DEVICES, f"For interviews: what randomizes, {', '.join(DEVICES)}."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: use the default for everything not given.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Write a survey by answering four questions. The file explains each of its lines.

    A question that an option answers is not asked. With --yes, nothing is asked; if no question is
    given either, the survey is the ready survey `health`.

    With --device, the survey is one of interviews, in which a device in the person's hand
    randomizes: only its name and its questions are asked.

    \b
    Example:
      incrowd new
      incrowd new --device die --name Smoking --question "Do you smoke? yes / no"
      incrowd new --name Smoking --question "Do you smoke? yes / no" --people 2000 --yes
      incrowd new --ready works-council --people 400 --yes
    """
    from incrowd.cli.drafting import noise_advice
    from incrowd.drafts.new_survey import NewSurvey, ready_content

    if output.exists() and not force and not is_stream(output):
        raise UsageError.of("-o", "cli.exists", path=str(output))
    if device:
        others = {"ready": ready, "people": people, "expected": expected, "protection": protection}
        _new_interviews(output, device, name, question, others, yes, json)
        return
    if ready and question:
        raise UsageError.of("--ready", "cli.ready-and-questions", value=ready)
    if yes and not question and not ready:
        ready = READY[0]
    elif not ready and not (name and question):
        name, ready = _about(name, bool(question), yes)
    content = ready_content(ready) if ready else {}
    decided = NewSurvey(
        name=name or content.get("name", NAME),
        ready=ready,
        questions=() if ready else _questions(question),
        people=_people(people, expected, content, yes),
        strength=_strength(protection, content, yes),
    )
    text = decided.toml
    survey = incrowd.Survey.of(tomllib.loads(text))
    write_text(output, text)
    following = f"incrowd plan {shlex.quote(str(output))} -o plan.json"
    advice = noise_advice(survey)
    undecided = [f"{each.id}: {doubt}" for each in decided.questions for doubt in each.undecided]
    if json:
        ids = [each.id for each in survey.questions]
        facts = {"output": str(output), "survey": text, "questions": ids, "undecided": undecided}
        print_json(facts | {"advice": advice, "next": following})
        return
    questions = quantity(len(survey.questions), "questions")
    say(f"wrote {output}: {questions} for {decided.people.invited:,} people")
    for each in undecided:
        say(f"to decide: {each}")
    for each in advice:
        say(each)
    say(f"next: {following}")


def _new_interviews(
    output: Path,
    device: str,
    name: str | None,
    question: list[str] | None,
    others: Mapping[str, object],
    yes: bool,
    json: bool,
) -> None:
    """Write a survey of interviews. others: options that it does not have."""
    from incrowd.interviews.new_interviews import NewInterviews

    for option, value in others.items():
        if value is not None:
            raise UsageError.of(f"--{option}", "cli.not-with-device", value=value)
    if yes and not question:
        raise UsageError.of("--question", "cli.missing-argument")
    name = name or (NAME if yes else _asked("--name", ABOUT_INTERVIEWS, str) or NAME)
    text = NewInterviews(name, device, _questions(question, QUESTIONS_BY_HAND)).toml
    survey = incrowd.InterviewSurvey.of(tomllib.loads(text))
    write_text(output, text)
    following = shlex.join(["incrowd", "check", str(output)])
    ids = [each.id for each in survey.items]
    facts = {"output": str(output), "survey": text, "questions": ids, "next": following}
    if not printed_as_json(json, facts, None):
        say(f"wrote {output}: {quantity(len(ids), 'questions')} for interviews, device: {device}")
        say(f"next: {following}")


def _typed(option: str) -> str:
    """Return the next line of the input. Raises UsageError at its end."""
    if sys.stdin.isatty() and not wants_json():
        sys.stderr.write("> ")
        sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError.of(option, "cli.input-ended")
    return line.strip()


def _asked(option: str, prompt: str, read: Callable[[str], Answer]) -> Answer:
    """Ask until the answer can be used. read: raises UsageError for one that cannot."""
    say(prompt)
    while True:
        try:
            return read(_typed(option))
        except UsageError as error:
            if error.problems[0].code == "cli.input-ended":
                raise
            for text in error_lines(error):
                print_line(text)


def _about(name: str | None, has_questions: bool, yes: bool) -> tuple[str | None, str | None]:
    """Ask for the name of the survey, or of a ready one. Return both; one of them is None."""
    if name or yes:
        return name, None
    typed = _asked("--name", ABOUT, str) or NAME
    return (None, typed) if typed in READY and not has_questions else (typed, None)


def _questions(given: list[str] | None, prompt: str = QUESTIONS) -> tuple[DraftQuestion, ...]:
    """Return the questions that are given, or ask for them."""
    from incrowd.drafts.new_survey import questions_in, type_text, with_unique_ids

    def further(text: str) -> tuple[DraftQuestion, ...]:
        return questions_in(text) if text else ()

    if given:
        return with_unique_ids([each for text in given for each in questions_in(text)])
    more = _asked("--question", prompt, questions_in)
    questions = more
    while more:
        understood = "; ".join(type_text(each) for each in more)
        more = _asked("--question", f"        understood: {understood}", further)
        questions = with_unique_ids([*questions, *more])
    return questions


def _people(
    invited: int | None, expected: float | None, content: dict[str, Any], yes: bool
) -> Participation:
    """Return who is invited: as given, as in a ready survey, or by default."""
    from incrowd.drafts.new_survey import least_invited
    from incrowd.survey.participation import Participation

    stated = content.get("people") or {"invited": 2 * content.get("crowd", PEOPLE // 2)}
    stated = {"expected": EXPECTED} | stated | ({"expected": expected} if expected else {})
    default = Participation(**stated)
    least = least_invited(default.expected)

    def checked(number: int) -> int:
        if number < least:
            raise UsageError.of("--people", "cli.too-few-invited", value=number, least=least)
        return number

    def read(text: str) -> int:
        digits = text.replace(",", "").replace("_", "").replace(" ", "")
        if not text:
            return default.invited
        if not digits.isdecimal():
            raise UsageError.of("--people", "cli.not-people", value=text)
        return checked(int(digits))

    if invited is not None:
        checked(invited)
    elif yes:
        invited = checked(default.invited)
    else:
        invited = _asked("--people", HOW_MANY.format(default=default.invited), read)
    return Participation(**stated | {"invited": invited})


def _strength(given: str | None, content: dict[str, Any], yes: bool) -> Any:
    """Return the strength that is given or typed; None for that of a ready survey."""
    from incrowd.drafts.new_survey import OFFERED, protection_text

    default = None if content else PROTECTION
    if given or yes:
        return given or default

    def read(text: str) -> str | None:
        word = text.casefold()
        numbered = dict(zip(("1", "2", "3"), PROTECTIONS, strict=True))
        if word and numbered.get(word, word) not in PROTECTIONS:
            raise UsageError.of(
                "--protection", "shared.use-one-of", value=text, choices=PROTECTIONS
            )
        return numbered.get(word, word) or default

    shown = default or f"that of the ready survey (epsilon {content['privacy']['epsilon']:g})"
    choices = [f"          {protection_text(each)}" for each in OFFERED]
    return _asked("--protection", "\n".join([HOW_STRONG.format(default=shown), *choices]), read)


def example(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of the example.", autocompletion=one_of(EXAMPLES)),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; this one by default.")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    json: AsJson = False,
) -> None:
    """Write an example: a survey, and answers to it. Without a name, list the examples.

    \b
    Example:
      incrowd example
      incrowd example health
    """
    from incrowd.drafts import examples

    if name is None:
        _list_examples([*examples.EXAMPLES.values()], json)
        return
    if name not in examples.EXAMPLES:
        raise UsageError.of("name", "shared.use-one-of", value=name, choices=EXAMPLES)
    chosen = examples.EXAMPLES[name]
    make_folder(output)
    survey, answers = places = [output / file.name for file in chosen.files]
    for place, file in zip(places, chosen.files, strict=True):
        if not force and place.exists() and place.read_bytes() != file.read_bytes():
            raise UsageError.of("-o", "cli.example-differs", path=str(place))
    for place, file in zip(places, chosen.files, strict=True):
        with replaced(place) as temporary:
            temporary.write_bytes(file.read_bytes())
    following = f"incrowd plan {shlex.quote(str(survey))} -o plan.json"
    if chosen.interviews:
        words = ("incrowd", "read", str(survey), str(answers), "-o", "interviews.parquet")
        following = shlex.join(words)
    if json:
        facts = {"name": name, "about": chosen.about, "survey": str(survey)}
        print_json(facts | {"answers": str(answers), "next": following})
        return
    say(f"wrote {survey} and {answers}: {chosen.about}")
    say(f"next: {following}")


def _list_examples(listed: list[PackagedExample], json: bool) -> None:
    if json:
        print_json([each._asdict() for each in listed])
        return
    width = max(len(each.name) for each in listed)
    for each in listed:
        typer.echo(f"{each.name.ljust(width)}  {each.about}")
    say(f"to write one here: incrowd example {listed[0].name}")
