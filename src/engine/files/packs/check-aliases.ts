import type { Hash } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { createSha256 } from '../../../base/hash.ts';
import {
  ALIAS_RECORD_BYTES,
  type AliasRecord,
  decodeAliasRecord,
} from '../../../format/alias-record.ts';
import { ALIASES_FILE } from './pack-file.ts';
import { type Check, eachRecord } from '../truth/check.ts';
import { type Found, staleIndex } from '../truth/findings.ts';

/** Checks the SHA-256 names of blobs: each is computed again from the content. */
export async function checkAliases(check: Check): Promise<void> {
  const { core, findings, snapshot } = check;
  const file = {
    file: ALIASES_FILE,
    recordBytes: ALIAS_RECORD_BYTES,
    next: snapshot.tails.nextAlias,
    what: 'aliases',
  };
  await eachRecord(check, file, async (bytes, number) => {
    const alias = decodeAliasRecord(bytes);
    if (alias === undefined) {
      findings.add(problemOfAlias(number, 'this SHA-256 record is damaged', true));
      return;
    }
    if (core.index.findSha256(alias.sha256) !== alias.hash) {
      findings.add(staleIndex(`the index does not know the SHA-256 ${alias.sha256}`, alias.hash));
    }
    await checkContent(check, alias, number);
  });
}

async function checkContent(check: Check, alias: AliasRecord, number: number): Promise<void> {
  const { core, findings, blobs } = check;
  const { hash, sha256 } = alias;
  if (!blobs.isThere(core, hash)) {
    // A collection takes blobs that nothing refers to. Then their SHA-256 name means nothing.
    if (core.collected.next > 0 && !blobs.unreadable.has(hash)) return;
    const what = 'the blob with this SHA-256 cannot be read';
    findings.add({ ...problemOfAlias(number, what, false), id: hash });
    return;
  }
  const found = await sha256Of(check, hash);
  if (found === undefined || found === sha256) return;
  const what = 'this is not the SHA-256 of the blob';
  findings.add({ ...problemOfAlias(number, what, true), id: hash });
}

/** Undefined when the content cannot be read. Another check reports that damage at its place. */
async function sha256Of({ core }: Check, hash: Hash): Promise<string | undefined> {
  const hasher = createSha256();
  try {
    for await (const piece of core.blobs.read(hash, 0, Infinity)) hasher.update(piece);
    return hasher.digest();
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT') || isQuipuError(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}

function problemOfAlias(number: number, what: string, inRecord: boolean): Found {
  const length = inRecord ? ALIAS_RECORD_BYTES : 0;
  const offset = number * ALIAS_RECORD_BYTES;
  return { what, file: ALIASES_FILE, offset, severity: 'lost', length };
}
