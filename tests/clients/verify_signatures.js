// Verifies the signatures of requests, and of the directory with their key, by packages that know nothing of this server.
//
//   node verify_signatures.js FILE
//
// FILE is JSON: `directory` and `requests`, each with its `url` and `headers`, and the directory with its `body`. Prints one line of JSON: the
// thumbprint of the key, and the nonces of the signatures. A signature that is wrong ends the program with an error.
import { readFileSync } from 'node:fs';
import { verify as verifyMessage } from 'http-message-sig';
import { helpers, jwkToKeyID, validateNonce, verify } from 'web-bot-auth';
import { verifierFromJWK } from 'web-bot-auth/crypto';

const { directory, requests } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { keys } = JSON.parse(directory.body);
if (keys.length !== 1) throw new Error(`${keys.length} keys`);
const thumbprint = await jwkToKeyID(keys[0], helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
if (thumbprint !== keys[0].kid) throw new Error(`the key is ${thumbprint} and not ${keys[0].kid}`);
const verifyWithKey = await verifierFromJWK(keys[0]);
const nonces = [];

/** Checks what a signature says about itself, then the signature. */
async function verifier(data, signature, parameters) {
  if (parameters.keyid !== thumbprint) throw new Error(`the key of a signature is ${parameters.keyid}`);
  if (!validateNonce(parameters.nonce)) throw new Error(`the nonce is ${parameters.nonce}`);
  nonces.push(parameters.nonce);
  await verifyWithKey(data, signature, parameters);
}

for (const { url, headers } of requests) {
  await verify({ method: 'GET', url, headers }, verifier);
}
const request = { method: 'GET', url: directory.url, headers: {} };
await verifyMessage({ request, response: { status: 200, headers: directory.headers } }, async (data, signature, parameters) => {
  if (parameters.tag !== 'http-message-signatures-directory') throw new Error(`the tag is ${parameters.tag}`);
  await verifier(data, signature, parameters);
});
console.log(JSON.stringify({ thumbprint, nonces }));
