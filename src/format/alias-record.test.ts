import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { hash } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { hashBytes, sha256Hex } from '../base/hash.ts';
import { type AliasRecord, decodeAliasRecord, encodeAliasRecord } from './blob-record.ts';
import { seal } from './bytes.ts';

const ALIAS_HEX =
  'ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f2cf24dba' +
  '5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b982400000000e907a317';

const HELLO = Buffer.from('hello');
const ALIAS: AliasRecord = { hash: hashBytes(HELLO), sha256: sha256Hex(HELLO) };

describe('alias record', () => {
  recordSuite<AliasRecord>({
    golden: [{ hex: ALIAS_HEX, value: ALIAS }],
    values: fc.record({ hash, sha256: hash.map(String) }),
    encode: encodeAliasRecord,
    decode: decodeAliasRecord,
  });

  it('takes no record sealed over a reserved byte', () => {
    const record = Buffer.from(ALIAS_HEX, 'hex');
    record[65] = 1;
    seal(record);
    expect(decodeAliasRecord(record)).toBeUndefined();
  });
});
