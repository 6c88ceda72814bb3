"""Words that carry no subject, so that key phrases break at them: English; elsewhere phrases break at punctuation alone."""

_ENGLISH = """
a about above after again against all also am an and any anything are aren't as at be because been before being below
between both but by can can't cannot could couldn couldn't d did didn didn't do does doesn doesn't doing don don't down
during each few for from further get gets getting glad go going good got great had hadn't has hasn't have haven't having
he her here hers herself hey hi him himself his how i i'm i've if im in into is isn isn't it it's its itself just know
let like ll lot m made make maybe me more most much my myself nice no nor not o of off oh on once one only or other our
ours out over own re really s same she should so some something such sure t than thank thanks that that's the their
theirs them then there these they thing things think this those through to too under until up us ve very want was wasn
wasn't way we we're well were what when where which while who whom why will with won't would wouldn wow y yeah yes you
you're your yours yourself
"""

STOPWORDS = frozenset(_ENGLISH.split())
