"""English words that carry no subject, dropped from traces and queries alike.

Negations are not among them: "use the cache" and "do not use the cache" must stay two texts.
A contracted negation stands for `not`.
"""

from __future__ import annotations

_ARTICLES_AND_POINTERS = "a an the this that these those such same"
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
one ones who whom whose which what someone something anyone anything everyone everything
"""
_AUXILIARIES = """
am is are was were be been being do does did doing done have has had having
can could shall should will would may might must ought
"""
_QUESTIONS = "how why when where whether whatever whenever wherever whichever"
_PREPOSITIONS = """
of in on at by for with from to into onto upon about above across after against along among
around as before behind below beneath beside besides between beyond during down off out over
since through throughout till toward towards under until up via within
"""
_JOINERS = """
and or but if then else so than because while although though unless yet however therefore thus
"""
_FILLERS = """
also again already always any both each either every few here just more most much many much
now often only other others own quite rather really some sometimes still there too very well
ever even all
"""
_CONTRACTIONS = """
i'm i'd i'll i've you're you'd you'll you've he's he'd he'll she's she'd she'll it's it'd it'll
we're we'd we'll we've they're they'd they'll they've that's that'd that'll there's there'd
there'll here's what's what're what'll who's who'd who'll where's when's why's how's how'd let's
im ive id'
"""
STOPWORDS = frozenset(
    word
    for words in (
        _ARTICLES_AND_POINTERS,
        _PRONOUNS,
        _AUXILIARIES,
        _QUESTIONS,
        _PREPOSITIONS,
        _JOINERS,
        _FILLERS,
        _CONTRACTIONS,
    )
    for word in words.split()
)
NEGATIONS = frozenset({"not", "no", "never", "none", "nor", "neither", "without", "cannot"})
_NEGATED = """
ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't
needn't shan't shouldn't wasn't weren't won't wouldn't cannot
"""
CONTRACTED_NEGATIONS = frozenset(_NEGATED.split())
