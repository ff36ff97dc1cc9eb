"""The rules in other languages: words of completion, deferral and taking back.

Standard library only, Python 3.9 and newer, linear time. Read only when a message makes no
claim in English. What is open is what the English rules mark (TODO, FIXME and TBD are written
in every language), a promise for later, or a plain word that something was not tested.

A language is here because it was measured (docs/gate.md); others are left to the English
rules. `todo` means "all" in several languages, so here a marker counts in capitals alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from hikmah.gate.text import Text, pattern

_WORDS_BACK = 3
_CHARS_BACK = 6  # where no blanks part words
_CHARS_AHEAD = 12


class Language:
    """One language's words, each a pattern over the lower-case text."""

    __slots__ = ("claims", "deferred", "denied", "denied_after", "offers", "spaced", "untested")

    def __init__(
        self,
        *,
        claims: str,
        denied: str,
        deferred: str,
        offers: str,
        untested: str,
        denied_after: str = "",
        spaced: bool = True,
    ) -> None:
        self.claims = claims.split()
        self.denied = denied.split()
        self.deferred = deferred
        self.offers = offers
        self.untested = untested
        self.denied_after = denied_after
        self.spaced = spaced


LANGUAGES = (
    Language(  # German
        claims="fertig erledigt abgeschlossen implementiert behoben umgesetzt "
        "fertiggestellt gelöst korrigiert",
        denied="nicht nie kein keine fast beinahe teilweise halb noch",
        deferred=r"\b(?:ich|wir) werden?\b[^.!?;\n]{0,60}\b(?:noch|später|morgen|dann|bald)\b"
        r"|\b(?:schreibe|mache|ergänze|teste|prüfe|aktualisiere|liefere|erledige) (?:ich|wir)"
        r"\b[^.!?;\n]{0,30}\b(?:noch|später|morgen|dann|danach|nach)\b"
        r"|\b(?:folgt|folgen) (?:noch|später|morgen)\b",
        offers=r"wenn (?:du|sie|ihr) (?:willst|möchte|wollen|wünsch)|falls (?:gewünscht|du|sie)"
        r"|auf wunsch|bescheid|sobald (?:du|sie)",
        untested=r"\b(?:nicht|noch nicht|nie) (?:ausgeführt|getestet|geprüft)\b|\bungetestet\b"
        r"|\bfehlt noch\b|\bfehlen noch\b",
    ),
    Language(  # French
        claims="terminé terminée terminés fini finie prêt prête corrigé corrigée "
        "implémenté implémentée résolu résolue livré livrée",
        denied="pas jamais presque partiellement non sans encore",
        deferred=r"\b(?:je |j'|nous )(?:vais |allons )?[a-zà-ÿ]+(?:rai|rons|er|ir|re)?\b"
        r"[^.!?;\n]{0,60}\b(?:demain|plus tard|ensuite|bientôt|prochainement)\b",
        offers=r"si vous (?:voulez|souhaitez|préférez|le)|si tu (?:veux|souhaites|préfères)"
        r"|dites-moi|dis-moi|dès que vous|quand vous",
        untested=r"\b(?:pas|jamais)(?: encore)?(?: été)? (?:exécut|test|vérifi|lanc)é[es]{0,2}\b",
    ),
    Language(  # Spanish
        claims="listo lista hecho hecha terminado terminada completado completada "
        "implementado implementada corregido corregida arreglado arreglada "
        "resuelto resuelta entregado",
        denied="no nunca casi parcialmente sin todavía aún medio",
        deferred=r"\b(?:voy|vamos) a [a-zà-ÿ]+\b[^.!?;\n]{0,60}"
        r"\b(?:mañana|más tarde|luego|después|pronto)\b"
        r"|\b[a-zà-ÿ]+(?:aré|eré|iré|aremos|eremos|iremos)\b[^.!?;\n]{0,60}"
        r"\b(?:mañana|más tarde|luego|después|pronto)\b",
        offers=r"si (?:quieres|quiere|lo desea|prefieres|prefiere|te parece)"
        r"|cuando (?:quieras|quiera)|avísame|dime",
        untested=r"\bno (?:se )?(?:han?|he|hemos)(?: sido)?"
        r" (?:ejecutado|probado|verificado)[as]{0,2}\b"
        r"|\bsin probar\b",
    ),
    Language(  # Portuguese
        claims="pronto pronta feito feita concluído concluída finalizado finalizada "
        "terminado implementado implementada corrigido corrigida resolvido "
        "resolvida entregue",
        denied="não nunca quase parcialmente sem ainda",
        deferred=r"\b(?:vou|vamos) [a-zà-ÿ]+r\b[^.!?;\n]{0,60}"
        r"\b(?:amanhã|mais tarde|depois|em seguida|em breve|logo)\b",
        offers=r"se (?:quiser|quiseres|preferir|desejar)|quando (?:quiser|aprovar)"
        r"|me avise|avise-me",
        untested=r"\bnão (?:foram|foi|testei|executei|rodei)(?: (?:executad|testad)[oa]s?)?\b"
        r"|\bsem testar\b",
    ),
    Language(  # Italian
        claims="fatto finito finita completato completata pronto pronta risolto "
        "risolta corretto corretta implementato implementata",
        denied="non mai quasi parzialmente ancora senza",
        deferred=r"\b[a-zà-ÿ]+(?:erò|irò|eremo|iremo)\b[^.!?;\n]{0,60}"
        r"\b(?:domani|più tardi|poi|dopo|presto)\b",
        offers=r"se (?:vuoi|vuole|volete|preferisci|preferisce)|fammi sapere|mi faccia sapere",
        untested=r"\bnon (?:ho|sono stati|è stato) (?:ancora )?"
        r"(?:eseguit|testat|provat|verificat)[oaie]\b",
    ),
    Language(  # Russian
        claims="готово готов готова сделано завершено завершена исправлено исправлена "
        "реализовано реализована выполнено решено закончено",
        denied="не ещё еще почти частично без",
        deferred=r"\b(?:напишу|добавлю|сделаю|допишу|обновлю|проверю|исправлю|доделаю|запущу)\b"
        r"[^.!?;\n]{0,60}\b(?:позже|потом|завтра|затем|скоро)\b"
        r"|\b(?:позже|потом|завтра|затем|скоро)\b[^.!?;\n]{0,40}"
        r"\b(?:напишу|добавлю|сделаю|допишу|обновлю|проверю|исправлю|доделаю|запущу)\b",
        offers=r"если (?:хотите|хочешь|нужно|скажете)|скажите|дайте знать",
        untested=r"\bне (?:запускал|запускались|тестировал|проверял|проверен)[аоыи]{0,2}\b",
    ),
    Language(  # Chinese
        claims="完成 搞定 已修复 修复了 已实现 已经实现 实现了 已解决 已交付",
        denied="未 没 不 待 部分 几乎 快要",
        deferred=r"(?:稍后|之后|随后|接下来|明天|下一步|以后|回头)[^。！？；\n]{0,8}"
        r"(?:添加|补充|实现|修复|更新|测试|完成|编写|部署|处理|补上)",
        offers=r"如果(?:你|您)?(?:需要|想|愿意|同意)|如需|请告诉我|告知",
        untested=r"(?:还没|没有|尚未|未)(?:运行|执行|跑)?(?:过)?测试",
        spaced=False,
    ),
    Language(  # Japanese
        claims="完了 完成 修正しました 実装しました 終わりました できました",
        denied="未 まだ ほぼ 一部",
        denied_after=r"(?:は|では)?(?:して|でき)?(?:い)?(?:ません|ない)",
        deferred=r"(?:後で|あとで|のちほど|後ほど|次に|明日|今後)[^。！？；\n]{0,20}(?:します|する予定|予定です)",
        offers=r"ご希望|必要であれば|よろしければ|お知らせください",
        untested=r"テスト(?:は|を)?(?:まだ)?(?:実行)?して(?:い)?(?:ません|ない)",
        spaced=False,
    ),
    Language(  # Korean
        claims="완료 끝났 구현했 수정했 해결했 마쳤",
        denied="미 아직 거의 일부",
        denied_after=r"(?:하지|되지)? ?(?:않|못)",
        deferred=r"(?:나중에|이후에|다음에|내일|추후)[^.!?;\n]{0,30}(?:하겠습니다|할게요|겠습니다|예정)",
        offers=r"원하시면|필요하시면|알려 ?주",
        untested=r"테스트(?:는|를)? ?(?:아직 )?(?:실행)?하지 않",
        spaced=False,
    ),
)


# Romance languages share words of completion, so what denies in one denies in all.
_DENYING = frozenset(word for language in LANGUAGES if language.spaced for word in language.denied)


def claims(text: Text) -> Iterator[tuple[int, int, Language]]:
    """Yield where the message claims completion in another language than English."""
    clean = text.clean
    for language in LANGUAGES:
        present = [word for word in language.claims if word in clean]
        if not present:
            continue
        source = "(?u:" + "|".join(sorted(present, key=len, reverse=True)) + ")"
        for hit in pattern(source).finditer(clean):
            start, end = hit.span()
            whole = not language.spaced or _is_whole(clean, start, end)
            if whole and not _is_denied(text, start, end, language) and not text.is_asked(end):
                yield start, end, language


def _is_whole(clean: str, start: int, end: int) -> bool:
    """Tell whether no letter of any script touches a word."""
    return not clean[start - 1 : start].isalnum() and not clean[end : end + 1].isalnum()


def _is_denied(text: Text, start: int, end: int, language: Language) -> bool:
    low, _ = text.clause(start, end)
    before = text.clean[low:start]
    if language.spaced:
        return not _DENYING.isdisjoint(before.replace(",", " ").split()[-_WORDS_BACK:])
    near = before[-_CHARS_BACK:]
    after = text.clean[end : end + _CHARS_AHEAD]
    return any(word in near for word in language.denied) or (
        bool(language.denied_after) and pattern(language.denied_after).match(after) is not None
    )


def deferred(text: Text, language: Language) -> Iterator[tuple[int, int]]:
    """Yield promises for later that are not left to the user."""
    for hit in pattern("(?u:" + language.deferred + ")").finditer(text.clean):
        low, high = text.clause(hit.start(), hit.end())
        if pattern(language.offers).search(text.clean, low, high) is None:
            yield hit.span()


def untested(text: Text, language: Language) -> Iterator[tuple[int, int]]:
    """Yield where the message says that something was not tested or is missing."""
    for hit in pattern("(?u:" + language.untested + ")").finditer(text.clean):
        yield hit.span()


def is_marker(text: Text, start: int, end: int) -> bool:
    """Tell whether a marker counts beside a claim in another language.

    TBD in capitals does; TODO and FIXME, which also name lists and comments, only as syntax.
    """
    term = text.source[start:end]
    syntax = pattern(r" ?[:：(]").match(text.clean, end) is not None  # full width
    return term == "TBD" or (term in ("TODO", "FIXME") and syntax)
