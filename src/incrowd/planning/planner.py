"""The smallest noise that keeps what the survey promises."""

from __future__ import annotations

from incrowd.accounting.calibration import smallest_epsilon, smallest_noise
from incrowd.accounting.certificates import Certificate, certify
from incrowd.accounting.schema import Schema
from incrowd.errors import PrivacyError
from incrowd.plan import Guarantee, Message, Plan
from incrowd.survey import Survey


def make_plan(survey: Survey) -> Plan:
    """One message with all questions, and the smallest noise that gives the wanted guarantee.

    Raises PrivacyError if no noise gives it.
    """
    privacy, crowd = survey.privacy, survey.crowd - survey.colluding
    domains = [question.domain for question in survey.questions]
    channel = smallest_noise(
        privacy.analysis, domains, crowd, privacy.epsilon, privacy.delta, survey.copies
    )
    schema = Schema.uniform(domains, channel)
    certificate = certify(privacy.analysis, schema, crowd, privacy.epsilon, survey.copies)
    delta = 0.0 if privacy.analysis == "local" else privacy.delta
    message = Message(
        questions=tuple(question.id for question in survey.questions),
        noise_numerator=channel.numerator,
        copies=survey.copies,
    )
    guarantee = _guarantee(certificate, delta, crowd)
    return Plan(survey=survey, messages=(message,), guarantee=guarantee)


def _guarantee(certificate: Certificate, delta: float, crowd: int) -> Guarantee:
    return Guarantee(
        analysis=certificate.analysis,
        epsilon=certificate.epsilon,
        delta=delta,
        certified_delta=certificate.delta.upper,
        crowd=crowd,
        proved=certificate.proved,
        assumption=certificate.assumption,
        worst=certificate.worst,
    )


def schema_of(plan: Plan) -> Schema:
    """What one report of the plan's message carries."""
    message = plan.messages[0]
    domains = [plan.survey.question(id).domain for id in message.questions]
    return Schema.uniform(domains, message.channel)


def recertify(plan: Plan) -> Certificate:
    """The plan's certificate, computed anew from its noise, copies and crowd."""
    guarantee, copies = plan.guarantee, plan.messages[0].copies
    return certify(guarantee.analysis, schema_of(plan), guarantee.crowd, guarantee.epsilon, copies)


def guarantee_for(plan: Plan, people: int) -> Guarantee:
    """What the plan's noise gives to each of `people`, of whom `colluding` hide nobody.

    A larger crowd than planned changes nothing: the plan's own guarantee is what was promised.
    For a smaller one delta stays and epsilon grows; where no crowd is left, or delta cannot be
    reached, what remains is the local guarantee.
    """
    planned, crowd = plan.guarantee, people - plan.survey.colluding
    if crowd >= planned.crowd:
        return planned
    schema, copies = schema_of(plan), plan.messages[0].copies
    try:
        epsilon = smallest_epsilon(planned.analysis, schema, crowd, planned.delta or 0.5, copies)
        if planned.analysis != "local" and epsilon < schema.local_epsilon * copies:
            certificate = certify(planned.analysis, schema, crowd, epsilon, copies)
            return _guarantee(certificate, planned.delta, crowd)
    except PrivacyError:
        pass
    local = certify("local", schema, 2, min(schema.local_epsilon * copies, 699.0), copies)
    return _guarantee(local, 0.0, max(crowd, 1))
