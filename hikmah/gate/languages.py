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

    __slots__ = (
        "claims",
        "deferred",
        "denied",
        "denied_after",
        "offers",
        "script",
        "spaced",
        "told_of",
        "untested",
    )

    def __init__(
        self,
        *,
        claims: str,
        denied: str,
        deferred: str,
        offers: str,
        untested: str,
        told_of: str,
        denied_after: str = "",
        spaced: bool = True,
        script: str = "",
    ) -> None:
        self.claims = [word.replace("_", " ") for word in claims.split()]
        self.denied = denied.split()
        self.deferred = deferred
        self.offers = offers
        self.untested = untested
        self.told_of = told_of
        self.denied_after = denied_after
        self.spaced = spaced
        self.script = script


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
        untested=r"\b(?:nicht|nie) (?:ausgeführt|getestet|geprüft)\b(?! (?:ist|sind|war|wurde))"
        r"|\bnoch nicht (?:implementiert|umgesetzt|fertig|geschrieben|angebunden|übersetzt)\b"
        r"(?! (?:ist|sind|war|wurde))|\bungetestet\b"
        r"|\b(?:fehlt|fehlen) noch\b|\b(?:steht|stehen) noch aus\b"
        r"|\b(?:muss|müssen) (?:ich|wir) noch\b|\bmüssen noch\b[^.!?;\n]{0,40}\bwerden\b",
        told_of=r"\b(?:wenn|falls|sobald|solange|ob|wo|was|früher|vorher|bisher)\b",
    ),
    Language(  # French
        claims="terminé terminée terminés fini finie prêt prête corrigé corrigée "
        "implémenté implémentée résolu résolue livré livrée",
        denied="pas jamais presque partiellement non sans encore",
        deferred=r"\b(?:je |j'|nous )(?:vais |allons )?[a-zà-ÿ]+(?:rai|rons|er|ir|re)?\b"
        r"[^.!?;\n]{0,60}\b(?:demain|plus tard|ensuite|bientôt|prochainement)\b",
        offers=r"si vous (?:voulez|souhaitez|préférez|le)|si tu (?:veux|souhaites|préfères)"
        r"|dites-moi|dis-moi|dès que vous|quand vous",
        untested=r"\b(?:pas|jamais)(?: encore)?(?: été)? (?:exécut|test|vérifi|lanc)é[es]{0,2}\b"
        r"|\bpas encore(?: été)? (?:implémenté|écrit|branché|traduit|fait)[es]{0,2}\b"
        r"|(?<!ne )(?<!n'y )\breste(?:nt)?(?: encore)? à (?:l'|les? |la )?[a-zà-ÿ]+(?:er|ir|re)\b",
        told_of=r"\b(?:qui|que|dont|où|si|lorsque|quand|avant|auparavant)\b|\bce qu",
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
        r"|\b(?:no|todavía no|aún no) he (?:ejecutado|probado|escrito|implementado|añadido)\b"
        r"|\bsin probar\b|(?<!no )\b(?:falta|faltan)(?: por)? [a-zà-ÿ]+[aei]r\b"
        r"|(?<!no )\b(?:queda|quedan) (?:por [a-zà-ÿ]+[aei]r|pendientes? de)\b",
        told_of=r"\b(?:que|si|cuando|donde|antes)\b",
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
        untested=r"\bnão (?:foram|foi) (?:executad|testad|verificad|implementad|escrit)[oa]s?\b"
        r"|\bnão (?:testei|executei|rodei|escrevi|implementei)\b|\bsem testar\b"
        r"|(?<!não )\b(?:falta|faltam) [a-zà-ÿ]+[aei]r\b",
        told_of=r"\b(?:que|se|quando|onde|antes)\b",
    ),
    Language(  # Italian
        claims="fatto finito finita completato completata pronto pronta risolto "
        "risolta corretto corretta implementato implementata",
        denied="non mai quasi parzialmente ancora senza",
        deferred=r"\b[a-zà-ÿ]+(?:erò|irò|eremo|iremo)\b[^.!?;\n]{0,60}"
        r"\b(?:domani|più tardi|poi|dopo|presto)\b",
        offers=r"se (?:vuoi|vuole|volete|preferisci|preferisce)|fammi sapere|mi faccia sapere",
        untested=r"\bnon (?:ho|sono stati|è stato) (?:ancora )?"
        r"(?:eseguit|testat|provat|verificat)[oaie]\b"
        r"|\b(?:resta|restano|rimane|rimangono) da [a-zà-ÿ]+(?:are|ere|ire)\b",
        told_of=r"\b(?:che|se|quando|dove|prima)\b",
    ),
    Language(  # Russian
        claims="готово готов готова сделано завершено завершена исправлено исправлена "
        "реализовано реализована реализован выполнено выполнена решено решена закончено "
        "закончена исправлен исправлены завершён завершен",
        denied="не ещё еще почти частично без",
        deferred=r"\b(?:напишу|добавлю|сделаю|допишу|обновлю|проверю|исправлю|доделаю|запущу)\b"
        r"[^.!?;\n]{0,60}\b(?:позже|потом|завтра|затем|скоро)\b"
        r"|\b(?:позже|потом|завтра|затем|скоро)\b[^.!?;\n]{0,40}"
        r"\b(?:напишу|добавлю|сделаю|допишу|обновлю|проверю|исправлю|доделаю|запущу)\b",
        offers=r"если (?:хотите|хочешь|нужно|скажете)|скажите|дайте знать",
        untested=r"\bне (?:запускал|запускались|тестировал|проверял|проверен)[аоыи]{0,2}\b"
        r"|\b(?:пока|ещё|еще) не (?:добавил|написал|реализовал|сделал|проверил|перевёл)[аи]?\b"
        r"|(?<!не )\bосталось (?:добавить|написать|реализовать|сделать|проверить|доделать)\b",
        told_of=r"\b(?:котор[а-яё]{2,3}|если|когда|что|раньше)\b",
    ),
    Language(  # Japanese
        claims="完了 完成 修正しました 実装しました 終わりました できました",
        denied="未 まだ ほぼ 一部",
        denied_after=r"(?:は|では)?(?:して|でき)?(?:い)?(?:ません|ない)",
        deferred=r"(?:後で|あとで|のちほど|後ほど|次に|明日|今後)[^。！？；\n]{0,20}(?:します|する予定|予定です)",
        offers=r"ご希望|必要であれば|よろしければ|お知らせください",
        untested=r"テスト(?:は|を)?(?:まだ)?(?:実行)?して(?:いません|ません|(?:い)?ない(?=[。\n]|$|が|ので))"
        r"|まだ[^。\n]{0,12}?(?:実装|対応|作成|追加|テスト)(?:でき|して)"
        r"(?:いません|ません|(?:い)?ない(?=[。\n]|$|が|ので))|はまだです",
        told_of=r"場合|以前|これまで",
        spaced=False,
        script=r"[ぁ-ゖァ-ヺ]",
    ),
    Language(  # Chinese
        claims="完成 搞定 已修复 修复了 已实现 已经实现 实现了 已解决 已交付",
        denied="未 没 不 待 部分 几乎 快要",
        deferred=r"(?:稍后|之后|随后|接下来|明天|下一步|以后|回头)[^。！？；\n]{0,8}"
        r"(?:添加|补充|实现|修复|更新|测试|完成|编写|部署|处理|补上)",
        offers=r"如果(?:你|您)?(?:需要|想|愿意|同意)|如需|请告诉我|告知",
        untested=r"(?:还没|没有|尚未|未)(?:运行|执行|跑)?(?:过)?测试(?!的)"
        r"|(?:还没有?|尚未|还未)(?:写|编写|实现|完成|处理|添加|接入|补充)(?![^。！？；，\n]{0,4}的)"
        r"|(?:目前|暂时|现在)(?:还)?(?:是)?写死|上线前(?:还)?(?:需要|必须|要)改",
        told_of=r"如果|当|之前|原来",
        spaced=False,
    ),
    Language(  # Korean
        claims="완료 끝났 구현했 수정했 해결했 마쳤",
        denied="미 아직 거의 일부",
        denied_after=r"(?:하지|되지)? ?(?:않|못)",
        deferred=r"(?:나중에|이후에|다음에|내일|추후)[^.!?;\n]{0,30}(?:하겠습니다|할게요|겠습니다|예정)",
        offers=r"원하시면|필요하시면|알려 ?주",
        untested=r"테스트(?:는|를)? ?(?:아직 )?(?:실행)?하지 않(?!은)"
        r"|아직 [^.!?\n]{0,12}(?:구현|작성|추가)(?:하지|되지)? ?(?:않았|못했)",
        told_of=r"이전에|경우",
        spaced=False,
    ),
    Language(  # Arabic
        claims="تم_إصلاح تم_تنفيذ تم_إكمال تم_الانتهاء اكتمل اكتملت انتهيت أنجزت أكملت أصلحت "
        "جاهز جاهزة",
        denied="لم لن ليس ليست غير لا تقريبا",
        deferred=r"\bو?س[أن][ء-ي]+[^.!؟؛\n]{0,60}(?:لاحق(?:ًا|اً|ا)|غد(?:ًا|اً|ا)|فيما بعد)(?!\w)",
        offers=r"إذا (?:أردت|رغبت|شئت|وافقت)|إن (?:أردت|شئت)|أخبرني",
        untested=r"\bلم [أن][ء-ي]+[^.!؟؛\n]{0,40} بعد(?!\w)"
        r"|\bلم يتم (?:اختبار|تنفيذ|كتابة)(?!\w)",
        told_of=r"التي|الذي|الذين|إذا|عندما|كان",
    ),
    Language(  # Hindi
        claims="पूरा_हो_गया पूरी_हो_गई पूरा_कर_दिया तैयार_है ठीक_कर_दिया लागू_कर_दिया",
        denied="नहीं लगभग आधा",
        deferred=r"बाद में [^।.!?\n]{0,40}(?:ूँगा|ूंगा|ूँगी|ूंगी|ेंगे)",
        offers=r"(?:यदि|अगर) आप|बताएं|बताइए",
        untested=r"अभी (?:भी )?बाकी (?:है|हैं)|टेस्ट (?:अभी )?(?:तक )?नहीं (?:लिखे|चलाए|किए|किया)"
        r"|अभी (?:तक )?नहीं (?:किया|लिखा|लिखे|चलाए|बनाया)",
        told_of=r"जो|जिन|जब|पहले",
    ),
)


# Romance languages share words of completion, so what denies in one denies in all.
_DENYING = frozenset(word for language in LANGUAGES if language.spaced for word in language.denied)


def claims(text: Text) -> Iterator[tuple[int, int, Language]]:
    """Yield where the message claims completion in another language than English."""
    clean = text.clean
    for language in LANGUAGES:
        present = [word for word in language.claims if word in clean]
        if not present or (language.script and not pattern(language.script).search(clean)):
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
        if not _is_told_of(text, hit.start(), language) and not text.is_asked(hit.end()):
            yield hit.span()


def _is_told_of(text: Text, start: int, language: Language) -> bool:
    """Tell whether a phrase is quoted, or in a part that speaks of cases or of before."""
    low, _ = text.clause(start, start)
    part = max(text.clean.rfind(comma, low, start) + 1 for comma in ",，、،")
    before = pattern("(?u:" + language.told_of + ")").search(text.clean, max(part, low), start)
    return before is not None or text.is_mentioned(start)


def is_marker(text: Text, start: int, end: int) -> bool:
    """Tell whether a marker counts beside a claim in another language.

    TBD in capitals does; TODO and FIXME, which also name lists and comments, only as syntax.
    """
    term = text.source[start:end]
    syntax = pattern(r" ?[:：(]").match(text.clean, end) is not None  # full width
    return term == "TBD" or (term in ("TODO", "FIXME") and syntax)
