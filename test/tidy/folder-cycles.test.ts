import { describe, expect, it } from 'vitest';
import { folderCycles } from './folder-cycles.ts';

function cyclesOf(sources: Readonly<Record<string, string>>): Map<string, string[]> {
  return folderCycles(Object.keys(sources), (file) => sources[file]!);
}

describe('folderCycles', () => {
  it('finds folders of one layer that import each other, over others and by types', () => {
    const cycles = cyclesOf({
      'src/chat/a/a.ts': "import { b } from '../b/b.ts';",
      'src/chat/b/b.ts': "import type { C } from '../c/c.ts';",
      'src/chat/c/c.ts': "export { a } from '../a/other.ts';",
      'src/chat/d/d.ts': "import { a } from '../a/a.ts';",
    });
    expect([...cycles]).toEqual([['chat', ['src/chat/a', 'src/chat/b', 'src/chat/c']]]);
  });

  it('counts a folder that imports its parent', () => {
    const cycles = cyclesOf({
      'src/engine/files/core.ts': "import { turn } from './turns/turn.ts';",
      'src/engine/files/turns/turn.ts': "import { NAME } from '../names.ts';",
    });
    expect([...cycles]).toEqual([['engine/files', ['src/engine/files', 'src/engine/files/turns']]]);
  });

  it('takes files of one folder, other layers and packages for no circle', () => {
    const cycles = cyclesOf({
      'src/base/a.ts': "import { b } from './b.ts';\nimport { ulid } from 'ulid';",
      'src/base/b.ts': "import { a } from './a.ts';",
      'src/engine/engine.ts': "import { x } from './files/x.ts';",
      'src/engine/files/x.ts': "import { y } from '../engine.ts';",
    });
    expect([...cycles]).toEqual([]);
  });
});
