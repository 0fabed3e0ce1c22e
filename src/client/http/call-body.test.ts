import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { QuipuError } from '../../base/errors.ts';
import { decodeCallReply, encodeCallReply, encodeStream } from '../../wire/call.ts';
import { toErrorMessage } from '../../wire/error-message.ts';
import { decodeBody, decodePiece, encodeBody } from './http-transport.ts';

const body = fc.record({
  json: fc.string({ unit: 'grapheme' }),
  blobs: fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 4 }),
});

const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

describe('the bodies of calls in a browser', () => {
  it('are those of the binary protocol', () => {
    fc.assert(
      fc.property(body, ({ json, blobs }) => {
        const here = encodeBody({ json, blobs });
        const there = plain(Buffer.concat(encodeCallReply({ json, blobs })));
        expect(here).toEqual(there);
        expect(decodeBody(there)).toEqual({ json, blobs });
        expect(decodeCallReply(here).json).toBe(json);
      }),
    );
  });

  it('come in streams with their ends and errors', () => {
    const error = new QuipuError('NOT_FOUND', 'there is no turn 9', { what: 'turn', id: '9' });
    const pieces = [
      encodeStream({ kind: 'item', body: { json: '[1]', blobs: [] } }),
      encodeStream({ kind: 'end' }),
      encodeStream({ kind: 'error', error: toErrorMessage(error, true) }),
    ].map((parts) => decodePiece(plain(Buffer.concat(parts))));
    expect(pieces[0]).toEqual({ kind: 'item', body: { json: '[1]', blobs: [] } });
    expect(pieces[1]).toEqual({ kind: 'end' });
    const [, , last] = pieces;
    expect(last?.kind === 'error' && last.error.toJSON()).toEqual(error.toJSON());
  });

  it('that are cut off are refused', () => {
    const whole = encodeBody({ json: '[1]', blobs: [new Uint8Array(5)] });
    for (let end = 0; end < whole.length; end += 1) {
      expect(() => decodeBody(whole.subarray(0, end)), String(end)).toThrow(/cut off/);
    }
  });
});

describe('what a browser loads', () => {
  it('has nothing of Node in it, and no package', () => {
    const found = new Set<string>();
    const visit = (file: string): void => {
      if (found.has(file)) return;
      found.add(file);
      const text = readFileSync(file, 'utf8');
      const imports = text.matchAll(/^(?:import|export) (?!type)[^;]*? from '([^']+)';/gms);
      for (const [, specifier = ''] of imports) {
        expect(specifier, file).toMatch(/^\.\.?\//);
        visit(join(dirname(file), specifier));
      }
      const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      expect(code, file).not.toMatch(/\b(?:Buffer|require|setImmediate|__dirname)\b/);
    };
    const folder = dirname(fileURLToPath(import.meta.url));
    visit(join(folder, '../../browser.ts'));
    expect(found.size).toBeGreaterThan(8);
  });
});
