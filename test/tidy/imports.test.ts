import { describe, expect, it } from 'vitest';
import { packageOf, resolveImport, specifiersOf, unreachable } from './imports.ts';

describe('specifiersOf', () => {
  it('finds every way to name a module', () => {
    const source = [
      "import { a } from './a.ts';",
      "import type { B } from '../b.ts';",
      'import {',
      '  c,',
      "} from '@scope/c/sub';",
      "import './side-effect.ts';",
      "export { d } from './d.ts';",
      "const e = await import('./e.ts');",
    ].join('\n');
    expect(specifiersOf(source)).toEqual([
      './a.ts',
      '../b.ts',
      '@scope/c/sub',
      './side-effect.ts',
      './d.ts',
      './e.ts',
    ]);
  });

  it('takes no text for an import', () => {
    expect(specifiersOf("export const text: string = 'import me';\n// import it from 'x'")).toEqual(
      [],
    );
  });
});

describe('resolveImport and packageOf', () => {
  it('tells files, packages and Node modules apart', () => {
    expect(resolveImport('src/a/b.ts', '../c.ts')).toBe('src/c.ts');
    expect(resolveImport('src/a/b.ts', 'ulid')).toBeUndefined();
    expect(packageOf('@napi-rs/blake-hash')).toBe('@napi-rs/blake-hash');
    expect(packageOf('vitest/node')).toBe('vitest');
    expect(packageOf('node:fs')).toBeUndefined();
    expect(packageOf('./a.ts')).toBeUndefined();
  });
});

describe('unreachable', () => {
  it('names the files that no entry leads to, cycles included', () => {
    const sources: Record<string, string> = {
      'src/index.ts': "export { a } from './a.ts';",
      'src/a.ts': "import { b } from './b.ts';",
      'src/b.ts': "import type { A } from './a.ts';",
      'src/dead.ts': "import { a } from './also-dead.ts';",
      'src/also-dead.ts': "import { a } from './dead.ts';",
    };
    const dead = unreachable(Object.keys(sources), ['src/index.ts'], (file) => sources[file]!);
    expect(dead).toEqual(['src/dead.ts', 'src/also-dead.ts']);
  });
});
