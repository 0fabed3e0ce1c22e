import { describe, expect, it } from 'vitest';
import { blockOf, importText, layerFolders, parseLayerBlocks } from './layers.ts';

const CONFIG = `// A comment.
{
  "overrides": [
    { "files": ["src/base/**"],
      // Another one.
      "rules": { "no-restricted-imports": ["error", { "patterns": [{ "regex": "^\\\\.\\\\./store/" }] }] } },
    { "files": ["test/**"], "rules": { "no-restricted-imports": "off" } }
  ]
}`;

describe('parseLayerBlocks', () => {
  it('keeps the blocks that forbid imports, with their expressions', () => {
    const blocks = parseLayerBlocks(CONFIG);
    expect(blocks.map((block) => block.files)).toEqual([['src/base/**']]);
    expect(blocks[0]!.forbidden[0]!.test('../store/store.ts')).toBe(true);
    expect(blockOf(blocks, 'base')).toBe(blocks[0]);
    expect(blockOf(blocks, 'store')).toBeUndefined();
  });
});

describe('layerFolders', () => {
  it('asks for a layer per top folder and per engine', () => {
    const files = [
      'src/index.ts',
      'src/base/hash.ts',
      'src/engine/engine.ts',
      'src/engine/files/index/shelf.ts',
      'src/cli/nouns/store.ts',
    ];
    expect(layerFolders(files)).toEqual(['base', 'cli', 'engine', 'engine/files']);
  });
});

describe('importText', () => {
  it('writes the path as an import does', () => {
    expect(importText('base', 'store')).toBe('../store/x.ts');
    expect(importText('engine', 'engine/files')).toBe('./files/x.ts');
    expect(importText('engine/files', 'engine/postgres')).toBe('../postgres/x.ts');
    expect(importText('engine/files', 'cli')).toBe('../../cli/x.ts');
  });
});
