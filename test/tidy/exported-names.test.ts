import { describe, expect, it } from 'vitest';
import { exportedNames } from './exported-names.ts';

describe('exportedNames', () => {
  it('lists values and types under the names that users see', () => {
    const source = [
      "export { a, type B, c as d } from './x.ts';",
      "export type { E, F as G } from './y.ts';",
      'export {',
      '  z,',
      "} from './z.ts';",
    ].join('\n');
    expect(exportedNames(source)).toEqual(['a', 'd', 'type B', 'type E', 'type G', 'z']);
  });

  it('refuses what hides names', () => {
    expect(() => exportedNames("export * from './x.ts';")).toThrow('one by one');
  });
});
