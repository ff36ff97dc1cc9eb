"""The credentials screen: every shape that is refused, every shape that is kept."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hikmah.model import secrets
from hikmah.model.secrets import MASK, find, find_pair, mask

HEX40 = "8f3c1d2e4b5a69788796a5b4c3d2e1f00f1e2d3c"
HEX64 = HEX40 + "4b5a69788796a5b4c3d2e1f0"
UUID = "550e8400-e29b-41d4-a716-446655440000"
ALNUM36 = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
PEM = "-----BEGIN {}PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END {}PRIVATE KEY-----"

VENDOR_TOKENS = [
    ("AWS access key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("AWS access key", "ASIA" + "ABCDEFGHIJKLMNOP"),
    *(("GitHub token", f"gh{kind}_{ALNUM36}") for kind in "pousr"),
    ("GitHub token", "github_pat_" + "11ABCDEFG0" + "abcdefghij_KLMNOPQRST"),
    ("GitLab token", "glpat-" + "xYz_12-34abcdEFGHij5"),
    ("Anthropic key", "sk-ant-" + "api03-abcDEF123_456-ghiJKL"),
    ("OpenAI key", "sk-" + "abcdefghijklmnopqrstuvwxyz123456"),
    ("OpenAI key", "sk-proj-" + "Abc1Def2Ghi3Jkl4_mno5-pqr6"),
    ("OpenAI key", "sk-svcacct-" + "a_b-c_d-ABCDEFGH12345678ijkl"),
    ("Stripe live key", "sk_live_" + "4eC39HqLyjWDarjtT1"),
    ("Stripe live key", "rk_live_" + "4eC39HqLyjWDarjtT1"),
    *(("Slack token", f"xox{kind}-" + "123456789012-abcdefABCDEF") for kind in "abprs"),
    ("Slack token", "xapp-1-" + "A012345-678901-abcdef"),
    ("Google API key", "AIza" + "SyA1234567890abcdefghijklmnopqrstuv"),
    ("Google OAuth token", "ya29." + "a0AfH6SMBx1234567890abcdef"),
    ("npm token", "npm_" + ALNUM36),
    ("PyPI token", "pypi-" + "AgEIcHlwaS5vcmcCJDU5N2Y"),
    ("Hugging Face token", "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("SendGrid key", "SG." + "abcdefghijklmnop1234.ABCDEFGHIJKLMNOP1234567890"),
    ("age secret key", "AGE-SECRET-KEY-1" + "QQPQQPQQPQQPQQPQQPQQPQ"),
    ("JSON web token", JWT),
    ("API key", "apikey_" + "0f1e2d3c_4b5a69788796a5b4"),
    ("PEM private key", PEM.format("", "")),
    ("PEM private key", PEM.format("RSA ", "RSA ")),
    ("PEM private key", PEM.format("EC ", "EC ")),
    ("PEM private key", PEM.format("OPENSSH ", "OPENSSH ")),
    ("PEM private key", PEM.format("ENCRYPTED ", "ENCRYPTED ")),
    ("PEM private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nxcLYBF"),
    ("password in a URL", "postgres://app:hunter2@db.internal:5432/main"),
    ("password in a URL", "https://alex:s3cr3t@example.org/x"),
    ("password in a URL", "redis://:onlyapassword@cache:6379/0"),
    ("password in a URL", "amqp://guest:guest@localhost"),
    ("password in a URL", "mongodb+srv://root:p#ss@cluster0.example.net"),
    ("password in a URL", "ftp://scheme:user:password@host"),
]


@pytest.mark.parametrize(
    ("rule", "token"), [pytest.param(*row, id=f"{row[0]} {row[1][:12]!r}") for row in VENDOR_TOKENS]
)
@pytest.mark.parametrize("frame", ["{}", "use {} here", "({}).", 'k="{}",', "a\n{}\nb", "é{}é"])
def test_published_token_shapes_are_refused_by_the_name_of_their_rule(
    rule: str, token: str, frame: str
) -> None:
    """A vendor's token is found wherever it stands in a text (faults row 17)."""
    assert find(frame.format(token)) == rule


VALUES = {
    "one word": "swordfish",
    "a word that ends in digits": "hunter2222",
    "a chain that ends in a digit": "super-secret1",
    "a season and a year": "summer-2024",
    "snake case that ends in digits": "admin_pass123",
    "mixed case": "HunterTwo",
    "mixed case and digits": "Tr0ub4dor&3",
    "lower camel case of no program": "superSecret",
    "random text": "k3Jd82ls0Qx1",
    "hexadecimal": HEX40,
    "a UUID": UUID,
    "digits": "12345678",
    "a passphrase with hyphens": "correct-horse-battery-staple",
    "a passphrase with underscores": "qwerty_asdf",
    "a passphrase with dots": "correct.horse.battery",
    "a describing word alone": "encrypted",
    "a describing word and random text": "stored-x9y2z1k8",
    "a describing word, then a digit": "rotated-weekly-2",
    "an event and a year": "rotated-2026",
    "a date without an event": "summer-2026-09",
    "upper case of no variable": "HUNTERTWO",
    "upper case that ends in digits": "ADMIN_PASS123",
    "punctuation": "p@$$w0rd!!",
    "a dollar in front of a value": "$uperS3cret!",
    "base64 that begins with a slash": "/9j4AAQSkZJRgABAQEA/x7Yp0aBcDeFgHiJkLmN2",
    "base64 with padding": "dGhpcyBpcyBh==",
    "a default inside an expansion": "${PASS:-hunter2hunter2}",
    "an unknown scheme": "pass:hunter2hunter2",
    "a dotted value": "hunter.two.three",
    "a value over the limit of a look": "Zx9" * 200,
    "letters of another script": "пароль-сложный",
    "an unclosed bracket": "<hunter2hunter2",
}
NAMES = [
    "password", "Password", "PASSWORD", "passwd", "passphrase", "passcode", "pwd", "secret",
    "api key", "api_key", "api-key", "apikey", "apiKey", "X-API-KEY", "access key", "accessKey",
    "access token", "access_token", "accessToken", "auth token", "auth_token", "authToken",
    "token", "refresh_token", "bearer token", "session token", "private key", "private_key",
    "privateKey", "client secret", "client_secret", "clientSecret", "secret key", "secretKey",
    "aws_secret_access_key", "secretAccessKey", "secret access key", "AccountKey",
    "signing key", "encryption_key", "credential", "credentials", "DB_PASS", "smtp-pass",
    "db_password", "MYAPP_TOKEN", "spring.datasource.password",
]  # fmt: skip


@pytest.mark.parametrize("value", [pytest.param(v, id=k) for k, v in VALUES.items()])
@pytest.mark.parametrize("frame", ["password={}", "password: {}", "the api key = {}", "pwd := {}"])
def test_an_assigned_value_is_refused(frame: str, value: str) -> None:
    """A secret-looking name with a value of eight characters or more is refused."""
    assert find(frame.format(value)) == "secret assignment"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("frame", ["{}={}", "{}: {}", "{} = {}", '{{"{}": "{}"}}', "**{}:** {}"])
def test_every_secret_looking_name_counts(name: str, frame: str) -> None:
    """Names count in any case, separated or run together, with a prefix or without."""
    assert find(frame.format(name, "hunter2hunter2")) == "secret assignment"


ASSIGNED_IN_CODE = {
    "single quotes": "password = 'hunter2hunter2'",
    "backticks": "Password: `hunter2hunter2`",
    "a subscript": 'config["password"] = "hunter2hunter2"',
    "a comparison with a literal": 'if token == "hunter2hunter2":',
    "a typed field": 'password?: "hunter2hunter2"',
    "a hash rocket": ":password => 'hunter2hunter2'",
    "an escaped string of JSON": r'{"log": "{\"password\": \"hunter2hunter2\"}"}',
    "an escaped quote inside": r'password = "ab\"cdefghij"',
    "a quoted passphrase with blanks": 'password = "correct horse battery staple"',
    "a query string": "?user=x&password=hunter2hunter2&next=/",
    "a header": "Authorization: Bearer abcdef0123456789",
    "a basic header": "authorization: Basic dXNlcjpwYXNzd29yZA==",
    "a command line": "mysql --password=hunter2hunter2",
    "the second of two": "password: see-vault, token: hunter2hunter2",
    "an inner assignment": "password=token=hunter2hunter2",
    "XML text": "<x>password=hunter2hunter2</x>",
    "a string with a prefix": "password = b'hunter2hunter2'",
    "quotes inside": "password=hunter'2hunter\"2",
    "a repeated word that is longer": "password: mypassword",
    "a repeated word of another owner": "my_password = password",
    "an owned token of letters": "access_token: swordfish, x",
    "a quoted token of letters": 'token = "swordfish"',
    "a token at the start": "token=abcdefgh-12345678",
    "brackets around": "(password: hunter2hunter2).",
    "a letter that grows when lowered": "İİİİ PASSWORD: hunter2hunter2",
}


@pytest.mark.parametrize("text", [pytest.param(v, id=k) for k, v in ASSIGNED_IN_CODE.items()])
def test_assignments_in_code_and_prose_are_refused(text: str) -> None:
    """Quotes, subscripts, headers and escapes do not hide an assignment."""
    assert find(text) == "secret assignment"


DESCRIPTIONS = {
    "vault reference": "vault:secret/data/prod#db",
    "one-password reference": "op://Private/db/password",
    "secrets manager": "arn:aws:secretsmanager:eu-west-1:1:secret:db",
    "a link": "https://wiki.example.org/rotation",
    "a shell variable": "$DB_PASSWORD",
    "a lower-case shell variable": "$db_password",
    "a braced variable": "${DB_PASSWORD}",
    "a variable with a kept default": "${DB_PASSWORD:-$OTHER_PASSWORD}",
    "a required variable": "${DB_PASSWORD:?}",
    "a Windows variable": "%DB_PASSWORD%",
    "a command": "$(pass show db/prod)",
    "a template": "{{ secrets.DB_PASSWORD }}",
    "a workflow expression": "${{ secrets.DB_PASSWORD }}",
    "redacted": "<redacted>",
    "redacted in brackets": "[REDACTED]",
    "redacted as a word": "redacted",
    "a placeholder with blanks": "<your token goes here>",
    "a placeholder with hyphens": "your-api-key-here",
    "stars": "********",
    "crosses": "xxxxxxxx",
    "bullets": "••••••••",
    "elided": "abcd...wxyz",
    "partly masked": "hunt****",
    "masked already": MASK,
    "an environment variable's name": "DB_PASSWORD",
    "a variable with digits": "AUTH0_CLIENT_SECRET",
    "a variable with a digit inside": "K8S_DEPLOY_TOKEN",
    "a variable of the second kind": "DB_PASSWORD_2",
    "env scheme": "env:DB_PASSWORD",
    "server only": "server-only",
    "hashed": "hashed_with_argon2id",
    "an algorithm at the end": "hashed-with-sha256",
    "only an algorithm": "aes256-gcm",
    "a period": "expires-in-30-days",
    "a place": "stored/in/vault",
    "rotated in a month": "rotated-2026-09",
    "rotated on a day": "last-rotated-2026-09-30",
    "rotated on a day, said so": "rotated on 2026-09-30",
    "expired": "expired_2026-01",
    "prose": "encrypted with kms",
    "prose that ends a sentence": "required for every call.",
    "a call": "getAccessToken(user)",
    "a constructor": "new SecretProvider(config)",
    "an index": 'os.environ["DB_PASSWORD"]',
    "a dotted path": "process.env.DB_PASSWORD",
    "an optional path": "config?.auth?.token",
    "a constant": "TokenKind.IDENT",
    "a variable of a program": "accessToken",
    "a getter": "getUserToken",
    "an absolute path": "/run/secrets/db_password",
    "a home path": "~/.ssh/id_deploy",
    "a relative path": "../keys/deploy",
    "a Windows path": r"C:\keys\deploy.pem",
    "a folder": "/secrets/",
    "a file name": "deploy-key.pem",
    "a file in a folder": "config/secrets.yml",
    "a type": "SecretStr",
    "a literal": "undefined",
    "seven characters": "hunter2",
    "nothing": "",
}


@pytest.mark.parametrize("value", [pytest.param(v, id=k) for k, v in DESCRIPTIONS.items()])
@pytest.mark.parametrize("frame", ["password={}", "password: {}", "api key: {}"])
def test_a_description_or_a_reference_is_kept(frame: str, value: str) -> None:
    """Saying how or where a secret is kept gives nothing away (faults row 17)."""
    assert find(frame.format(value)) is None


QUOTED_DESCRIPTIONS = {
    "a sentence with a stating word": "The password must have twelve characters.",
    "a sentence with a describing word": "Stored in Vault, rotated weekly",
    "two words": "server only",
    "blank": "          ",
    "a punctuated sentence": "- is it there - ?",
}


@pytest.mark.parametrize("value", [pytest.param(v, id=k) for k, v in QUOTED_DESCRIPTIONS.items()])
def test_a_quoted_sentence_about_a_secret_is_kept(value: str) -> None:
    """A quoted text of several words may state something about a secret."""
    assert find(f'{{"password": "{value}"}}') is None


KEPT = {
    "a SHA-1 id": f"fixed in {HEX40}",
    "a SHA-256 id": f"fixed in {HEX64}",
    "an id with a name": f"commit: {HEX40}",
    "a UUID": f"session {UUID}",
    "a camelCase identifier": "call getUserAccessTokenFromRequestHeader first",
    "camelCase that begins like a name": "tokenExpiryHandler: refreshes early in the hour",
    "a file name": "see src/auth/password_reset_token.ts and api-key.guard.ts",
    "scikit": "pip install sk-learn",
    "scikit with a long name": "sk-learn-pipeline-for-text-classification-2024",
    "a word that holds sk-": "task-1234567890abcdef1234 is done, so is disk-abcdef1234567890",
    "an empty comparison": 'if token == "": raise',
    "a placeholder": "set <API_TOKEN> first",
    "a header with a placeholder": "Authorization: Bearer <API_TOKEN>",
    "a header without a scheme": "Authorization: required for every call",
    "the prefix alone": "keys begin with sk-ant- or ghp_ or AKIA",
    "AKIA inside a word": "XAKIA1234567890ABCDEF and AKIA1234567890ABCDEFGH",
    "a GitHub word": "ghp_short",
    "npm variables": "npm_config_registry and npm_lifecycle_event_of_the_package",
    "a PyPI project": "pypi-attestations-of-a-long-name",
    "half a JWT": "eyJhbGciOiJIUzI1NiJ9 is a header",
    "a public key": "-----BEGIN PUBLIC KEY-----\nMIIB",
    "a certificate": "-----BEGIN CERTIFICATE-----\nMIIB",
    "a URL with a port": "http://localhost:8080/a@b",
    "a URL with a query": "http://localhost:8080?mail=a@b.c",
    "a list of URLs": '["http://host:8080","a@example.org"]',
    "an ssh URL": "ssh://git@example.org:22/x.git",
    "a URL with a variable": "postgres://app:${DB_PASSWORD}@db/main",
    "a URL with a masked password": "postgres://app:****@db/main",
    "a URL with a name for a password": "postgres://USER:DB_PASSWORD@HOST/main",
    "no scheme": "a ://user:password@host",
    "token counts": "max_tokens: 12345678, token_count = 12345678",
    "a hash's name": "password_hash: 5f4dcc3b5aa765d6",
    "a path in code": "Token::Identifier and secret::manager::Client",
    "inequality": 'password != "hunter2hunter2"',
    "a primary key": "primary key: customer_number",
    "a cache key": "cache key: users-by-country",
    "a verb": "tests pass: everything-is-green",
    "a short value": "password: hunter2",
    "a type": "def login(token: str, password: str | None) -> None: ...",
    "no value": "password:",
    "the working folder": "PWD=/home/alex/project",
    "prose without an operator": "the password is hunter2hunter2, they say",
    "a name at the end of one line": "password:\nhunter2hunter2",
    "a variable passed on": "login(password=password, key_password=key_password)",
    "an attribute set": "self.password = password; self._password = password",
    "an entry passed on": '{"password": password}',
    "a parser's token": "token = Whitespace; token == Name.Builtin",
    "a documented argument": "password: Optional password for the server",
    "a documented argument of its own name": "password: Password used to log in",
    "a formatted string": 'credentials = f"{username}:{password}"',
    "a call with digits": "credentials = b64encode(userpass).decode()",
    "an attribute of another": "self.secret == other.secret, token=entry.creation_token",
    "an optional part of a URL": "scheme://[user:passwd@]proxy.server:port",
    "ciphers": "TLS_AES_256_GCM_SHA384",
    "a Google word": "AIzaShort",
}


@pytest.mark.parametrize("text", [pytest.param(v, id=k) for k, v in KEPT.items()])
def test_what_only_looks_like_a_credential_is_kept(text: str) -> None:
    """Hashes, ids, identifiers, file names and prose are not eaten (faults row 17)."""
    assert find(text) is None
    assert mask(text) == text


PAIRS = [
    ("db password", "hunter2hunter2", secrets.ASSIGNMENT),
    ("apiKey", "correct-horse-battery-staple", secrets.ASSIGNMENT),
    ("user.password ", "swordfish", secrets.ASSIGNMENT),
    ("password", "short", None),
    ("password", "server-only", None),
    ("token_count", "hunter2hunter2", None),
    ("colour", "hunter2hunter2", None),
    ("password", "Zx9" * 200, secrets.ASSIGNMENT),
]


@pytest.mark.parametrize(("name", "value", "rule"), PAIRS)
def test_a_name_and_a_value_in_two_fields_are_judged_as_one(
    name: str, value: str, rule: str | None
) -> None:
    """A claim or a JSON object cannot split an assignment past the screen."""
    assert find_pair(name, value) == rule


MASKED = {
    "password: hunter2hunter2": f"password: {MASK}",
    "a password=hunter2hunter2 b": f"a password={MASK} b",
    'x = {"password": "hunter2 hunter2"}': f'x = {{"password": "{MASK}"}}',
    "password=hunter2hunter2&x=1": f"password={MASK}&x=1",
    "(password: hunter2hunter2).": f"(password: {MASK}).",
    "postgres://app:hunter2@db": f"postgres://app:{MASK}@db",
    f"{PEM.format('', '')} and {PEM.format('RSA ', 'RSA ')}": f"{MASK} and {MASK}",
    "-----BEGIN PRIVATE KEY-----\nrest": MASK,
    f"{PEM.format('', '')[:30]}{PEM.format('', '')}": MASK,
    f"two: ghp_{ALNUM36} ghp_{ALNUM36}": f"two: {MASK} {MASK}",
    f"token: ghp_{ALNUM36}": f"token: {MASK}",
    f"sk-ant-{'a1' * 200} end": f"{MASK} end",
    f"glpat-{'a1' * 100}-glpat-{'b2' * 20}": MASK,
    "password: " + "Zx9" * 500 + " end": f"password: {MASK} end",
    'password: "' + "Zx9 " * 500 + '" end': f'password: "{MASK}" end',
    f"{JWT}.more": MASK,
    "x " + "secret: a-" * 9: f"x secret: {MASK}: {MASK}: {MASK}: {MASK}: {MASK}",
}


@pytest.mark.parametrize(("text", "masked"), MASKED.items(), ids=range(len(MASKED)))
def test_masking_replaces_the_whole_credential_and_nothing_else(text: str, masked: str) -> None:
    """A preview shows the text around a credential, never a part of it."""
    assert mask(text) == masked


SECRET_TEXT = st.lists(
    st.sampled_from(
        [
            *(token for _, token in VENDOR_TOKENS),
            *VALUES.values(),
            *DESCRIPTIONS.values(),
            *ASSIGNED_IN_CODE.values(),
            *(f"{name}: " for name in NAMES[:12]),
            "\n", " ", '"', "'", "=", ":", "://", "@", "-----END KEY-----", "\\", "x", "[", "]",
        ]
    )
    | st.text(max_size=12),
    max_size=8,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(SECRET_TEXT)
@example("password=password=[credential]hunter2hunter2")
def test_nothing_that_is_found_survives_masking(text: str) -> None:
    """Whatever is masked passes the screen, and masking twice changes nothing."""
    masked = mask(text)
    assert find(masked) is None
    assert mask(masked) == masked


DISGUISED = [
    pytest.param("password\u00a0=\u00a0hunter2hunter2 ok", "no-break spaces", id="no-break space"),
    pytest.param("password\u3000\uff1a\u3000hunter2hunter2 ok", "wide blanks", id="wide blanks"),
    pytest.param("pass\u200bword=hunter2hunter2 ok", "zero width", id="zero width in the name"),
    pytest.param("password=hunter2\u2060hunter2 ok", "joiner", id="joiner in the value"),
    pytest.param("\u202epassword=hunter2hunter2 ok", "override", id="a direction before it"),
    pytest.param(
        "".join(chr(ord(c) + 0xFEE0) for c in "password=hunter2hunter2") + " ok", "w", id="wide"
    ),
    pytest.param(
        "gh\u00adp_0123456789abcdefghij0123 ok", "soft hyphen", id="soft hyphen in a token"
    ),
]


@pytest.mark.parametrize(("text", "why"), DISGUISED)
def test_a_credential_is_one_in_any_spacing_and_width(text: str, why: str) -> None:
    """Pasted text is judged as it is read; masking takes the disguise with it."""
    assert find(text), why
    masked = mask(text)
    assert masked.endswith("[credential] ok")
    assert find(masked) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("password\u00a0= \uff1cyour password here\uff1e", id="a placeholder"),
        pytest.param("the\u00a0token\u00a0: is \u200bhashed", id="a sentence"),
        pytest.param("パスワードの設定\uff1a管理者に確認", id="Japanese with a wide colon"),
        pytest.param(
            "部署方案\uff1a止损和回滚\uff0c\uff21\uff30\uff29\u3000网关",
            id="Chinese with wide letters",
        ),
    ],
)
def test_text_with_odd_characters_and_no_credential_is_kept(text: str) -> None:
    """Wide punctuation is how half the world writes."""
    assert find(text) is None
    assert mask(text) == text


def test_a_name_in_a_field_of_its_own_is_read_too() -> None:
    """A claim's key may be pasted as well."""
    assert find_pair("db\u00a0pass\u200bword", "hunter2hunter2") == "secret assignment"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_screened_without_a_crash(text: str) -> None:
    """The screen answers for any text, and says None exactly when there is nothing to mask."""
    assert (find(text) is None) == (mask(text) == text)


@given(st.text("0123456789abcdef", min_size=40, max_size=40))
def test_no_object_id_is_ever_refused(object_id: str) -> None:
    """A bare git id is never taken for a credential (faults row 17)."""
    assert find(f"see {object_id} for it") is None


MEGABYTE = 1_000_000
HOSTILE = [
    "a", "password", "password ", "password=", "password: ", 'password="', "password='", "pwd`=",
    "password=token=", "api key ", "password \t", "secret:encrypted ", "password=<", "pwd=[",
    "password={{", "password=${", "password:$(", "secret: a-", "secret: a.", "token: a_b-",
    "password: hashed-", "password=/a", "password: A_", "password=a&", "password\\", 'pwd\\"',
    "://", "a://", "a://b:", "a://b:c", "a:b@", "-----BEGIN ", "-----BEGIN A ", "-----BEGIN RSA ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n-----END ", "PRIVATE KEY",
    "AKIA", "ghp_", "github_pat_", "glpat-", "sk-", "sk-ant-", "sk-a-", "sk-a_b-1", "sk_live_",
    "xoxb-", "xapp-1-", "AIza", "ya29.", "npm_", "pypi-", "pypi-A", "hf_", "SG.", "SG.a.",
    "AGE-SECRET-KEY-1", "eyJ", "eyJ.", "eyJa.eyJ", "eyJabcdefgh.", "apikey_", "apikey_a_",
    "authorization: bearer ", "authorization:", "key:", "=", ":", "\\", '"', "é", "\U0001f600", "İ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_of_hostile_repetition_is_screened(unit: str) -> None:
    """Repetition that would make a backtracking pattern hang is read through once."""
    repeats = MEGABYTE // len(unit)
    find(unit * repeats)
    assert find(mask(unit * (repeats // 20))) is None


@pytest.mark.parametrize("blank", [" ", "\t", "\\", '"', "*", "a", "-", "_", "A", "1", "."])
@pytest.mark.parametrize("name", ["password", "password=", "a://u:", "sk-", "eyJ", "password: a"])
def test_a_megabyte_of_filling_after_a_name_is_screened(name: str, blank: str) -> None:
    """A long run after a name that begins a rule is read through once."""
    text = (name + blank * 20_000) * (MEGABYTE // 20_000)
    find(text)
    assert find(mask(text[:100_000])) is None
