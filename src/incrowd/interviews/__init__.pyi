"""The public names for type checkers; `python -m tests.oracles.public_names` writes it."""

from incrowd.interviews.answers import InterviewAnswers as InterviewAnswers
from incrowd.interviews.arrivals import InterviewOverview as InterviewOverview
from incrowd.interviews.arrivals import overview as overview
from incrowd.interviews.columns import Factor as Factor
from incrowd.interviews.cross_table import InterviewTable as InterviewTable
from incrowd.interviews.cross_table import table as table
from incrowd.interviews.group_differences import GroupDifferences as GroupDifferences
from incrowd.interviews.group_differences import compare as compare
from incrowd.interviews.item_correlations import ItemCorrelations as ItemCorrelations
from incrowd.interviews.item_correlations import correlate as correlate
from incrowd.interviews.item_prevalence import Prevalence as Prevalence
from incrowd.interviews.item_prevalence import prevalence as prevalence
from incrowd.interviews.item_regression import ItemRegression as ItemRegression
from incrowd.interviews.outcome_models import regress_outcome as regress_outcome
from incrowd.interviews.outcome_regression import OutcomeRegression as OutcomeRegression
from incrowd.interviews.planning import DesignForecast as DesignForecast
from incrowd.interviews.planning import InterviewPlan as InterviewPlan
from incrowd.interviews.planning import plan_interviews as plan_interviews
from incrowd.interviews.power_forecasts import InterviewPower as InterviewPower
from incrowd.interviews.power_forecasts import PowerForecast as PowerForecast
from incrowd.interviews.power_forecasts import power_curves as power_curves
from incrowd.interviews.regression import regress as regress
from incrowd.interviews.varying import VaryingRegression as VaryingRegression
from incrowd.interviews.varying import regress_with_intercepts as regress_with_intercepts
