import { describe, expect, it } from 'vitest';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/text.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { assertMeta, extractFenced, resolveRefs } from './run-role.ts';

const HASH = 'a'.repeat(64);
const fence = (json: string): string => `\`\`\`json\n${json}\n\`\`\``;

describe('the built-in extractor', () => {
  it('takes the last block of JSON as meta and the text as it is', () => {
    const raw = `Words.\n${fence('{"n":1}')}\nmore\n${fence('{"n":2}')}`;
    expect(extractFenced(raw, {})).toEqual({ meta: { n: 2 }, contentPayload: raw, refs: [] });
    expect(extractFenced('plain', {})).toMatchObject({ meta: {}, contentPayload: 'plain' });
  });

  it('finds references in the text and in marked fields', () => {
    const raw = `see quipu:${HASH}, (blob:sha256:${HASH}) and artifact://s1/3.\n${fence('{"log":"x"}')}`;
    const schema = { properties: { log: { ref: true } } };
    const { refs } = extractFenced(raw, { schema });
    expect(refs).toEqual([`quipu:${HASH}`, `blob:sha256:${HASH}`, 'artifact://s1/3', 'x']);
  });

  it('fails where JSON is due and there is none', () => {
    const schema = { required: ['n'] };
    expect(() => extractFenced('plain', { schema })).toThrow(/no block of JSON/);
    expect(() => extractFenced(fence('{'), {})).toThrow(/does not parse/);
    expect(() => extractFenced(fence('[]'), {})).toThrow(/is an array/);
    expect(() => assertMeta({}, { schema })).toThrow(
      'meta does not match the schema: meta.n is missing',
    );
  });
});

describe('resolveRefs', () => {
  it('gives the blobs behind every form, each once, and fails for what is not there', async () => {
    const engine = new ModelEngine();
    const bytes = encodeUtf8('artifact');
    const [hash, sha256] = [hashBytes(bytes), sha256Hex(bytes)];
    await engine.commit({ blobs: [{ hash, bytes, sha256 }] });
    const forms = [hash, `quipu:${hash}`, `b3:${hash}`, `blob:sha256:${sha256}`];
    expect(await resolveRefs({ engine }, forms)).toEqual({ hashes: [hash], puts: [] });
    for (const ref of [
      HASH,
      `quipu:${HASH}`,
      `blob:sha256:${HASH}`,
      'artifact://s/1',
      'nonsense',
    ]) {
      await expect(resolveRefs({ engine }, [hash, ref])).rejects.toThrow(ref);
    }
    await engine.close();
  });
});
