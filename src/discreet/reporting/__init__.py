"""Reports: the facts about a release as plain data, and as one page to mail and print.

>>> from discreet import reporting
>>> sorted(reporting.__all__)
['report_facts', 'report_page', 'write_report']
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
