import { Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { listVerbs } from '../../src/cli/kit/verb.ts';
import { quipu } from '../../src/cli/program.ts';
import { readProject } from '../support/project.ts';

const text = readProject('docs/reference/cli.md');
/** The text under each heading of the third level, by heading. */
const sections = new Map(
  text
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

const commands = (await listVerbs(quipu)).map(([words, verb]) => [`quipu ${words}`, verb] as const);

describe('docs/reference/cli.md', () => {
  it('has a section for every command and no other', () => {
    expect([...sections.keys()].toSorted()).toEqual(commands.map(([name]) => name).toSorted());
  });

  it.each(commands)('names every argument and option of %s', (name, { takes = [] }) => {
    const shown = takes.filter((taken) => !(taken instanceof Option && taken.hidden));
    const words = shown.map((taken) =>
      taken instanceof Option ? (taken.long ?? taken.flags) : `<${taken.name()}>`,
    );
    const section = sections.get(name) ?? '';
    expect(words.filter((word) => !section.includes(word))).toEqual([]);
  });
});
