"""`incrowd privacy`: delta, epsilon or noise from the others, and curves of delta."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.catalog.sentences import joined, sentence
from incrowd.cli.completion import one_of
from incrowd.cli.console import out, print_json, say, working
from incrowd.cli.later import CommandGroup
from incrowd.cli.options import AsJson, load_survey
from incrowd.cli.words import ANALYSES
from incrowd.errors import IncrowdError, UsageError, quantity
from incrowd.files import replaced

if TYPE_CHECKING:
    from incrowd.accountant.certificates import Assessment
    from incrowd.accountant.channels.base import Channel
    from incrowd.accountant.channels.bit_flip import BitFlip
    from incrowd.accountant.channels.matrix import MatrixChannel
    from incrowd.accountant.codes import AnalysisName
    from incrowd.accountant.schema import Contribution, Schema
    from incrowd.plans import Message
    from incrowd.plans.plan import Assumption
    from incrowd.survey import Survey

LARGEST_EPSILON = 700  # e^epsilon stays a double
DEFAULT = "shuffle"

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compute the privacy of noise in a crowd, by every analysis.",
)

BitsOption = Annotated[
    int | None, typer.Option(help="Number of yes/no questions (free bits) in one report.")
]
SurveyOption = Annotated[
    Path | None, typer.Option("--survey", help="Survey whose questions travel together.")
]
CrowdOption = Annotated[
    int | None, typer.Option(help="Number of people; default: the survey's crowd.")
]
EpsilonOption = Annotated[float | None, typer.Option(help="Epsilon; default: the survey's.")]
DeltaOption = Annotated[float | None, typer.Option(help="Delta; default: the survey's.")]
AnalysisOption = Annotated[
    str,
    typer.Option(
        help=f"One of {', '.join(ANALYSES)}.",
        autocompletion=one_of(ANALYSES),
    ),
]
CopiesOption = Annotated[int | None, typer.Option(min=1, help="Reports per person; default: 1.")]
ColludingOption = Annotated[
    int | None, typer.Option(min=0, help="People who may collude with the analyst.")
]


LOCAL = "local_epsilon"  # the option of a channel's own epsilon: --epsilon is the crowd's
OptionsOption = Annotated[
    int | None, typer.Option(min=2, help="Answers of one question, instead of --bits.")
]
AtMostOption = Annotated[
    int | None, typer.Option(min=1, help="How many of --options a person may choose; default: 1.")
]
RoundsOption = Annotated[int | None, typer.Option(min=1, help="Rounds; default: 1.")]
MatrixOption = Annotated[
    str | None,
    typer.Option(
        help="For --channel matrix: probabilities of each report (rows) on each answer (columns), "
        'such as "0.8,0.2;0.2,0.8", or a CSV file.'
    ),
]
TakingPartOption = Annotated[
    float | None,
    typer.Option(help="Probability that a person takes part, if nobody learns who does."),
]
ChangedBitsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Instead of --bits, for cells: how many bits one person's answers change, each sent "
        "by itself; 2 for a table.",
    ),
]
MATRIX = "matrix"  # the only channel whose parameters are not numbers


class Setting:
    """The questions, crowd and copies that the options or a survey state."""

    def __init__(
        self,
        bits: BitsOption = None,
        survey: SurveyOption = None,
        crowd: CrowdOption = None,
        copies: CopiesOption = None,
        options: OptionsOption = None,
        at_most: AtMostOption = None,
        rounds: RoundsOption = None,
        colluding: ColludingOption = None,
        matrix: MatrixOption = None,
        taking_part: TakingPartOption = None,
        changed_bits: ChangedBitsOption = None,
    ) -> None:
        from incrowd.accountant.schema import MOST_FREE_BITS

        questions = [each for each in (bits, options, changed_bits, matrix) if each is not None]
        if not questions and survey is None:
            raise UsageError.of("--bits or --survey", "cli.bits-or-survey")
        if (questions and survey is not None) or len(questions) > 1:
            raise UsageError.of("--bits or --survey", "cli.bits-and-survey", value=questions[0])
        if survey is not None and rounds is not None:
            raise UsageError.of("--rounds", "cli.rounds-of-survey", value=rounds)
        if bits is not None and not 1 <= bits <= MOST_FREE_BITS:
            raise UsageError.of("--bits", "cli.bits", value=bits, most=MOST_FREE_BITS)
        self.bits, self.options, self.at_most = bits or 0, options or 0, at_most
        self.rounds, self.changed_bits = rounds or 1, changed_bits or 0
        self.matrix = None if matrix is None else _matrix(matrix)
        self.taking_part = taking_part
        if taking_part is not None:
            _check_taking_part(taking_part, survey, changed_bits)
        self.kind, self.numbers = "", dict[str, float]()  # of the channel; set by `of_a_setting`
        self.survey = load_survey(survey) if survey else None
        self.copies = int(self._value("copies", copies, self.survey, 1))
        people = int(self._value("crowd", crowd, self.survey))
        collude = int(self._value("colluding", colluding, self.survey, 0))
        self.crowd = people - collude
        if self.survey:
            changes = {"crowd": people, "colluding": collude}
            self.survey = self.survey.model_copy(update=changes)
            self.crowd = self.survey.honest

    @staticmethod
    def _value(
        name: str, value: float | None, source: Any, otherwise: float | None = None
    ) -> float:
        """Return an option's value, or the survey's, or a default."""
        if value is None:
            value = getattr(source, name) if source else otherwise
        if value is None:
            raise UsageError.of(f"--{name}", "cli.missing-setting")
        return value

    def wanted(self, name: str, value: float | None) -> float:
        """Return an option's value, or that of the survey's privacy."""
        return self._value(name, value, self.survey and self.survey.privacy)

    def sent(self, channel: Channel) -> Contribution:
        """Return what one person sends in all rounds of a survey and for all her rows, as in a
        plan."""
        from incrowd.accountant.schema import FREE_BIT, Part, alternatives, flip_of
        from incrowd.plans.sent import sent

        if self.survey is None:
            return self._alone(channel)
        channel = flip_of(Part(FREE_BIT, channel), "--survey")
        (only,) = alternatives(sent(self.survey, self._messages(self.survey, channel)))
        return only  # joint reports have no alternatives

    def _alone(self, channel: Channel) -> Contribution:
        """Return the reports of all rounds without a survey. What a device remembers is the same in
        every round: together they reveal at most what one report of it would."""
        from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Schema

        rounds = self.rounds
        if self.matrix or self.taking_part:
            return Contribution.of(self._of_one_question(channel), self.copies * rounds)
        domains = [FREE_BIT] * (self.bits or 1)
        if self.options:
            fewest = 1 if self.at_most is None else 0
            domains = [Domain(self.options, fewest, self.at_most or 1)]
        if channel.remembers and rounds > 1:
            channel, rounds = channel.permanent_stage, 1
        reports = self.copies * rounds * (self.changed_bits or 1)
        return Contribution.of(Schema.uniform(domains, channel), reports)

    def _of_one_question(self, channel: Channel) -> Schema:
        """Return a report of the only question that a channel of whole answers takes."""
        from incrowd.accountant.channels.answers import takes_answers
        from incrowd.accountant.schema import Domain, Part, Schema

        assert takes_answers(channel), "a matrix, or a hidden sample"
        answers = self.options or (2 if self.bits == 1 else 0)
        if not self.matrix and channel.options != answers:
            raise UsageError.of("--taking-part", "cli.taking-part-of-one", value=self.taking_part)
        return Schema.of([Part(Domain(channel.options, 1, 1), channel)])

    def sampled(self, channel: Channel) -> Channel:
        """Return a channel behind the coin of a hidden sample, if there is one."""
        from incrowd.accountant.channels.hidden_sample import HiddenSample

        if self.taking_part is None:
            return channel
        return HiddenSample.of(channel, self.taking_part, participation="hidden")

    def written_assumptions(self, assumed: tuple[Assumption, ...]) -> list[dict[str, Any]]:
        """Return assumptions as JSON-ready data, with that of a hidden sample."""
        codes = [each.model_dump(mode="json") for each in assumed]
        sample = {"code": "hidden-sample", "taking_part": self.taking_part}
        return codes if self.taking_part is None else [*codes, sample]

    def say_assumptions(self, assumed: tuple[Assumption, ...]) -> None:
        """Print assumptions as sentences, with that of a hidden sample."""
        from incrowd.presentation.guarantee_text import assumption_sentence

        sentences = [str(assumption_sentence(each)) for each in assumed]
        if self.taking_part is not None:
            sentences.append(str(sentence("cli.hidden-sample", rate=self.taking_part)))
        say(f"Assumption: {' '.join(sentences)}")

    def assumptions(self, by: str, channel: Channel) -> tuple[Assumption, ...]:
        """Return what the figures of an analysis assume."""
        from incrowd.accountant.analyses import analysis
        from incrowd.accountant.schema import FREE_BIT, Part, flip_of
        from incrowd.guarantees.assumed import assumptions
        from incrowd.plans.ledger import rounds_planned
        from incrowd.plans.plan import Assumption

        code = analysis(by).assumption
        if self.survey is None:
            return (Assumption(code=code),)
        privacy = self.survey.privacy.model_copy(update={"analysis": by})
        survey = self.survey.model_copy(update={"privacy": privacy})
        flip = flip_of(Part(FREE_BIT, channel), "--survey")
        return assumptions([rounds_planned(survey, self._messages(survey, flip))], code)

    def _messages(self, survey: Survey, channel: BitFlip) -> list[Message]:
        """Return one report of all questions, and one of those with permanent responses, with this
        noise wherever the survey fixes no other."""
        from incrowd.plans.message import JointReport

        fresh, permanent = (
            tuple(each for each in survey.randomized if each.memoized == memoized)
            for memoized in (False, True)
        )
        return [
            JointReport(
                questions=questions,
                noise_numerator=channel.numerator,
                copies=self.copies,
            )
            for questions in (fresh, permanent)
            if questions
        ]


def _matrix(stated: str) -> MatrixChannel:
    """Return the channel of a matrix that was typed, or that a file contains."""
    from incrowd.accountant.channels.matrix import MatrixChannel

    text = stated
    if ";" not in stated:
        try:
            text = Path(stated).read_text(encoding="utf-8-sig")
        except (OSError, ValueError):
            raise UsageError.of("--matrix", "cli.no-matrix", value=stated) from None
    rows = [row.split(",") for row in text.replace(";", "\n").splitlines() if row.strip()]
    return MatrixChannel.of([[entry.strip() for entry in row] for row in rows])


def _check_taking_part(value: float, survey: Path | None, changed_bits: int | None) -> None:
    """Raise UsageError unless a hidden sample is possible with this probability."""
    if not 0 < value < 1:
        raise UsageError.of("--taking-part", "shared.between-0-and-1", value=value)
    if survey is not None:
        raise UsageError.of("--taking-part", "cli.taking-part-of-survey", value=value)
    if changed_bits is not None:
        raise UsageError.of("--taking-part", "cli.taking-part-of-one", value=value)


def _device_options() -> list[Parameter]:
    """Return the option of the channel, and one for each parameter of any channel."""
    from incrowd.accountant.channels.registry import CHANNELS, parameters

    kinds = [*(kind.replace(" ", "-") for kind in CHANNELS), MATRIX]
    which = typer.Option(help=f"One of {', '.join(kinds)}.", autocompletion=one_of(kinds))
    options = [
        Parameter(
            "channel", Parameter.KEYWORD_ONLY, default=kinds[0], annotation=Annotated[str, which]
        )
    ]
    for name in parameters():
        takers = [
            kind.replace(" ", "-") for kind, one in CHANNELS.items() if name in one.parameters
        ]
        help = f"For --channel {', '.join(takers)}."
        option = LOCAL if name == "epsilon" else name
        options.append(
            Parameter(
                option,
                Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[float | None, typer.Option(help=help)],
            )
        )
    return options


def device(setting: Setting, kind: str, stated: dict[str, float]) -> Channel:
    """Return the channel of a kind with the stated numbers."""
    from incrowd.accountant.channels.registry import CHANNELS, channel_of

    kinds = {each.replace(" ", "-"): each for each in CHANNELS}
    if kind not in (*kinds, MATRIX):
        choices = [*kinds, MATRIX]
        raise UsageError.of("--channel", "shared.use-one-of", value=kind, choices=choices)
    if setting.matrix or kind == MATRIX:
        if kind != MATRIX or not setting.matrix or stated:
            raise UsageError.of(
                "--channel", "cli.channel-parameters", value=kind, options="--matrix"
            )
        return setting.sampled(setting.matrix)
    makers = CHANNELS[kinds[kind]].makers()
    if {*stated} not in [{*names} for names in makers]:
        raise UsageError.of(
            "--channel",
            "cli.channel-parameters",
            value=kind,
            options=joined("shared.or", [_spelled(each) for each in makers]),
        )
    if CHANNELS[kinds[kind]].of_answers and not setting.options:
        raise UsageError.of("--options", "cli.missing-setting")
    return setting.sampled(channel_of(kinds[kind], stated, setting.options))


def _spelled(names: tuple[str, ...]) -> str:
    return " ".join(
        f"--{(LOCAL if name == 'epsilon' else name).replace('_', '-')}" for name in names
    )


def of_a_setting(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the first parameter of a command, `setting`, with the options of a Setting."""
    shared = list(signature(Setting, eval_str=True).parameters.values())
    devices = _device_options()
    specific = tuple(signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def called(**values: Any) -> None:
        setting = Setting(**{option.name: values.pop(option.name) for option in shared})
        which, *numbers = (values.pop(option.name) for option in devices)
        names = ("epsilon" if each.name == LOCAL else each.name for each in devices[1:])
        stated = zip(names, numbers, strict=True)
        setting.kind = which
        setting.numbers = {name: number for name, number in stated if number is not None}
        command(setting, **values)

    options = [o.replace(kind=Parameter.KEYWORD_ONLY) for o in (*shared, *devices, *specific)]
    called.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return called


@app.command()
@of_a_setting
def delta(
    setting: Setting,
    epsilon: EpsilonOption = None,
    analysis: AnalysisOption = DEFAULT,
    json: AsJson = False,
) -> None:
    """Compute the delta (and eta) that noise gives at epsilon.

    \b
    Example:
      incrowd privacy delta --noise 0.37 --bits 40 --crowd 10000000 --epsilon 2
      incrowd privacy delta --channel k-ary --keep 0.8 --options 5 --crowd 10000 --epsilon 0.5
      incrowd privacy delta --channel warner --spinner 0.7 --bits 1 --crowd 1000 --epsilon 0.5
      incrowd privacy delta --channel matrix --matrix "5/6,1/6;1/6,5/6" --crowd 1000 --epsilon 0.5
    """

    _show(
        setting,
        device(setting, setting.kind, setting.numbers),
        setting.wanted("epsilon", epsilon),
        _name(analysis),
        json,
    )


@app.command()
@of_a_setting
def epsilon(
    setting: Setting,
    delta: DeltaOption = None,
    analysis: AnalysisOption = DEFAULT,
    json: AsJson = False,
) -> None:
    """Compute the smallest epsilon that noise gives at delta.

    \b
    Example:
      incrowd privacy epsilon --noise 0.37 --bits 40 --crowd 10000000 --delta 1e-6
      incrowd privacy epsilon --channel bit --one-if-zero 0.1 --one-if-one 0.8 --bits 1 \
        --rounds 12 --crowd 10000 --delta 1e-6
      incrowd privacy epsilon --noise 0.1 --bits 1 --taking-part 0.3 --crowd 10000 --delta 1e-6
    """
    from incrowd.accountant.certificates import smallest_epsilon

    channel = device(setting, setting.kind, setting.numbers)
    wanted = setting.wanted("delta", delta)
    sent = setting.sent(channel)

    def epsilon_of(analysis: AnalysisName) -> float:
        return smallest_epsilon(analysis, sent, setting.crowd, wanted)

    name = _name(analysis)
    _show(setting, channel, epsilon_of(name), name, json, epsilon_of)


@app.command()
@of_a_setting
def noise(
    setting: Setting,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    eta: Annotated[
        float | None,
        typer.Option(help="Instead of delta: probability that the ratio exceeds e^epsilon."),
    ] = None,
    analysis: AnalysisOption = DEFAULT,
    json: AsJson = False,
) -> None:
    """Find the smallest noise that gives (epsilon, delta) or (epsilon, eta).

    \b
    Example:
      incrowd privacy noise --survey health.toml --epsilon 1 --delta 1e-6
      incrowd privacy noise --changed-bits 2 --crowd 1000 --epsilon 1 --delta 1e-6
    """
    from incrowd.accountant.certificates import smallest_noise, smallest_noise_for_eta

    wanted = setting.wanted("epsilon", epsilon)
    if eta is not None and delta is not None:
        raise UsageError.of("--eta", "cli.eta-and-delta", value=eta)
    if eta is not None and not 0 < eta < 1:
        raise UsageError.of("--eta", "shared.between-0-and-1", value=eta)
    target = setting.wanted("delta", delta) if eta is None else eta
    find = smallest_noise if eta is None else smallest_noise_for_eta
    if setting.numbers or setting.matrix or setting.kind == MATRIX:
        name = next(iter(setting.numbers), MATRIX).replace("_", "-")
        raise UsageError.of(f"--{name}", "cli.noise-is-found")

    def of_flip(flip: BitFlip) -> Channel:
        if setting.kind == "bit-flip":
            return setting.sampled(flip)
        return device(setting, setting.kind, {"epsilon": flip.epsilon})

    def family(flip: BitFlip) -> Contribution:
        return setting.sent(of_flip(flip))

    with working("searching for the smallest noise"):
        flip = find(_name(analysis), family, setting.crowd, wanted, target)
        channel = of_flip(flip)
    _show(setting, channel, wanted, _name(analysis), json)


@app.command()
@of_a_setting
def curve(
    setting: Setting,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write: .html or .csv.")],
    epsilon: Annotated[float, typer.Option(help="Largest epsilon of the plot.")] = 3.0,
    points: Annotated[int, typer.Option(help="Points of each curve.", min=2, max=1000)] = 40,
    json: AsJson = False,
) -> None:
    """Plot delta against epsilon for all analyses.

    \b
    Example:
      incrowd privacy curve --noise 0.28 --survey survey.toml -o curve.html
      incrowd privacy curve --channel k-ary --keep 0.8 --options 5 --crowd 10000 -o curve.html
    """
    import numpy as np

    from incrowd.accountant.certificates import curves

    if output.suffix.lower() not in (".html", ".csv"):
        raise UsageError.of("-o", "cli.page-or-csv", path=str(output))
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise UsageError.of("--epsilon", "cli.epsilon", value=epsilon, most=LARGEST_EPSILON)
    channel = device(setting, setting.kind, setting.numbers)
    epsilons = np.linspace(0, epsilon, points)
    with working("drawing"):
        deltas = curves(setting.sent(channel), setting.crowd, list(epsilons))
    with replaced(output) as temporary:
        if output.suffix.lower() == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["epsilon", *deltas])
                columns = (epsilons.tolist(), *(curve.tolist() for curve in deltas.values()))
                writer.writerows(zip(*columns, strict=True))
        else:
            from incrowd.presentation.charts import curve_page  # drawing is slow to import

            shown = f"{_shown(channel, 6)}, {setting.crowd:,} people"
            title = f"{shown}, {quantity(setting.copies, 'copies')}"
            temporary.write_text(curve_page(title, epsilons, deltas), encoding="utf-8")
    say(f"wrote {output}")
    assumed = setting.assumptions(DEFAULT, channel)
    if json:
        facts = {"output": str(output), "epsilon": epsilons.tolist()}
        of_each = {analysis: curve.tolist() for analysis, curve in deltas.items()}
        written = setting.written_assumptions(assumed)
        print_json({**facts, "delta": of_each, "assumptions": written})
        return
    setting.say_assumptions(assumed)


def _name(analysis: str) -> AnalysisName:
    """Return the name of an analysis. Raises PrivacyError if it is unknown."""
    from incrowd.accountant.analyses import analysis as registered

    return registered(analysis).name


def _show(
    setting: Setting,
    channel: Channel,
    epsilon: float,
    analysis: AnalysisName,
    json: bool,
    epsilon_of: Any = None,
) -> None:
    """Print one analysis as JSON, or all analyses side by side."""
    from incrowd import number_text
    from incrowd.accountant.analyses import ANALYSES as REGISTERED
    from incrowd.accountant.certificates import assess
    from incrowd.presentation.guarantee_text import worst_pair
    from incrowd.presentation.terminal_tables import table

    sent = setting.sent(channel)
    with working("computing"):
        requested = assess(analysis, sent, setting.crowd, epsilon)
    assumed = setting.assumptions(analysis, channel)
    if json:
        more: dict[str, Any] = {"assumptions": setting.written_assumptions(assumed)}
        if not channel.kind:  # surveys do not know it
            more["channel"] = setting.kind
        print_json(facts(requested, channel) | more)
        return
    title = f"{_shown(channel, 8)}, crowd {setting.crowd:,}, copies {setting.copies}"
    comparison = table(title, "analysis", "epsilon", "delta", "eta")
    comparison.add_column("kind")
    with working("comparing the analyses"):
        for other in REGISTERED.values():
            comparison.add_row(*_row(other.name, requested, sent, epsilon_of))
    out.print(comparison)
    for name, order in (("presence", requested.presence), ("absence", requested.absence)):
        if order:
            bounds = (number_text.bound(value, 6) for value in (order.delta, order.eta))
            say("the papers' own pair, {}: delta {}, eta {}".format(name, *bounds))
    say(f"{requested.analysis}: {worst_pair(requested.worst)}")
    setting.say_assumptions(assumed)


def _shown(channel: Channel, digits: int) -> str:
    """Return a channel with its probabilities."""
    from incrowd import number_text
    from incrowd.accountant.channels.bit_flip import is_flip

    return f"noise {number_text.noise(channel.q, digits)}" if is_flip(channel) else str(channel)


def _row(
    analysis: AnalysisName, requested: Assessment, sent: Contribution, epsilon_of: Any
) -> tuple[str, ...]:
    """Return one analysis as a row of the table, or the reason why it gives no figure."""
    from incrowd import number_text
    from incrowd.accountant.analyses import analysis as registered
    from incrowd.accountant.certificates import assess
    from incrowd.presentation.guarantee_text import figure_kind

    try:
        if analysis == requested.analysis:
            assessment = requested
        else:
            solvable = epsilon_of and registered(analysis).scalable
            epsilon = epsilon_of(analysis) if solvable else requested.epsilon
            assessment = assess(analysis, sent, requested.crowd, epsilon)
    except IncrowdError as error:
        return (analysis, "", "", "", str(error.problems[0].message))
    figures = (assessment.epsilon, assessment.delta.upper, assessment.eta)
    kind = figure_kind(assessment.proved, assessment.delta)
    if assessment.by != analysis:  # it is the best of several
        kind = f"{kind}, by {assessment.by}"
    return (analysis, *(number_text.bound(figure, 6) for figure in figures), kind)


def facts(assessment: Assessment, channel: Channel) -> dict[str, Any]:
    """Return an assessment as JSON-ready data."""
    from incrowd.accountant.channels.bit_flip import is_flip

    flip = is_flip(channel) and {"noise": channel.q, "noise_numerator": channel.numerator}
    figures = asdict(assessment)
    proved = figures.pop("proved")
    return figures | {
        "worst": [pair.data() for pair in assessment.worst],
        "delta": float(assessment.delta.upper),
        "delta_lower": float(assessment.delta.lower),
        "delta_estimate": float(assessment.delta.estimate),
        **(flip or {}),
        "channel": channel.kind,
        "description": str(channel),
        "local_epsilon": channel.epsilon,
        "guarantee": proved,
    }
