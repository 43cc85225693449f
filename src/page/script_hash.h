/* script_hash.h - SHA-256 of script.js, as a page's policy names the only script that may run:
 * openssl dgst -sha256 -binary src/page/script.js | base64 */
#ifndef HR_PAGE_SCRIPT_HASH_H
#define HR_PAGE_SCRIPT_HASH_H

#define HR_PAGE_SCRIPT_HASH "zl5dqlADz4AtJnnWhVSy+SNq2xbEREChtBENpcUdJNI="
#endif
