"""Words that tell a described secret from a secret itself, as data.

A guard rail is only as good as its patience: an agent that writes "password:
hashed_with_argon2id" describes how a password is kept, and must not be stopped for it.
The sets are closed lists on purpose. A rule of grammar (every word in -ed, say) would
also let through passphrases such as `naked-red-speed`.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A chain of lower-case words with one of these in it describes how a value is kept.
DESCRIBING = _words(
    """
    absent agnostic allowed anonymous archived attached authenticated automatic automatically
    backed bcrypt bound cached checked cleared committed compared compromised configurable
    configuration configured decoded decrypted delegated deleted denied deployed deprecated
    derived detected disabled disallowed dropped dynamic elsewhere embedded empty enabled
    encoded encrypted encryption enforced env environment ephemeral escrowed exchanged expired
    expires expiring exported exposed external externally fetched file forbidden forgotten
    generated granted handled hardcoded hash hashed hashing held here hmac hsm ignored imported
    inherited injected inline insensitive inside internal invalid invalidated issued kept
    keychain keyring kms leaked limited lived loaded located locked logged managed manager
    mandatory masked minted misconfigured missing mounted needed nowhere nullable obfuscated
    obtained omitted only opaque optional outdated outside pending per placeholder plaintext
    prefixed prompted protected provided provisioned pulled randomly readable readonly received
    redacted refreshed refused rejected reloaded removed renewed replaced requested required
    requires reset resolved restricted retired revoked rotated rotates rotating rotation salted
    sanitized scoped scrubbed scrypt sealed secured sensitive sent separate separated server
    shared signed stale stored stripped supplied tied transient transmitted truncated
    unavailable unchanged undefined unencrypted unhashed unknown unneeded unset unused
    unverified updated validated vault verified via wrapped
    """
)

# Names of algorithms: the only words with digits in them that a description may hold.
ALGORITHMS = _words(
    """
    aes128 aes192 aes256 argon2 argon2d argon2i argon2id base32 base58 base64 base64url
    blake2 blake2b blake2s blake3 chacha20 curve25519 ecdsa256 ed25519 ed448 es256 es384
    hs256 hs384 hs512 md5 oauth1 oauth2 p256 pbkdf2 pkcs1 pkcs8 pkcs12 poly1305 ps256
    ripemd160 rs256 rs384 rs512 rsa2048 rsa4096 secp256k1 sha1 sha2 sha3 sha224 sha256
    sha384 sha512 sha3256 x25519 x509 xchacha20
    """
)

# A date after one of these says when something happened to a secret.
EVENTS = _words(
    """
    added changed checked created deprecated disabled due enabled expired expires expiring
    expiry generated invalidated issued leaked migrated moved refreshed removed renewed
    replaced reset retired revoked rolled rotate rotated rotates rotation scheduled set since
    stored until updated valid
    """
)

# Literals and types of programming languages that stand where a value would.
LITERALS = _words(
    "redacted undefined secretstr secretstring secretbytes optional[str] required[str]"
)

# First names of a dotted path into configuration or a program: `process.env.API_KEY`.
ROOTS = _words(
    """
    app args config configuration context credentials creds cfg ctx data env environ event
    github input inputs local module opts options os params parsed process props req request
    res response root secrets self session settings state steps this user values var vars vault
    """
)

# Words of a camelCase identifier that stands for a value kept elsewhere: `getAccessToken`.
IDENTIFIER_WORDS = _words(
    """
    access api auth bearer build client config create csrf current decoded decrypted db
    encoded encrypted env existing fetch from generate get hash hashed id load make new next
    old parse parsed read refresh req request resolve session stored to user with
    """
)

# What an environment variable that holds a secret ends in: `STRIPE_API_KEY`, `DB_PASS`.
SECRET_NOUNS = _words(
    """
    ACCESS APIKEY AUTH CREDENTIAL CREDENTIALS CREDS ID KEY PASS PASSPHRASE PASSWD PASSWORD PAT
    PIN PWD SECRET TOKEN
    """
)

# Endings of a file's name, so that `private key: deploy.pem` names a file.
FILE_ENDINGS = _words(
    """
    asc bak bash c cer cert cfg conf cpp crt cs csv db der env example gpg go h html ini java
    jks js json jsonl jsx kdbx key keystore kt lock log lua md p12 pem pfx php properties ps1
    pub py rb rs sample sh sql sqlite swift template toml ts tsx txt xml yaml yml zip zsh
    """
)
