from . import views as views
from .artifacts import kind_of as kind_of
from .artifacts import read_released as read_released
from .facts import each_result as each_result
from .facts import report_facts as report_facts
from .fitness import fitness as fitness
from .language import known_languages as known_languages
from .language import translated as translated
from .pages.report import report_page as report_page
from .verdict import examine as examine
from .verify import VERDICTS as VERDICTS
from .verify import verify as verify
from .words import category_level as category_level
from .words import number as number
from .words import prose as prose
from .words import share as share
from .words import whole_level as whole_level
from .write import write_report as write_report

# What users see. The other names are for other rooms.
__all__ = ["report_facts", "report_page", "write_report"]
