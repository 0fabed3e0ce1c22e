import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { steps } from '../../src/testing/engine-suite/random-batch.ts';
import { healthSuite } from '../../src/testing/health-suite/health-suite.ts';
import { underLoadSuite } from '../../src/testing/health-suite/under-load.ts';
import { verifySteps } from '../../src/testing/health-suite/verify-steps.ts';
import { postgresTarget } from '../support/postgres/postgres-target.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

const schemas = new StoreSchemas();
const target = postgresTarget(schemas);

healthSuite(target);

underLoadSuite(target, 2000);

it('a database that nothing damaged verifies clean after anything', async () => {
  const clock = (): number => 1000;
  await fc.assert(
    fc.asyncProperty(steps(true), async (sequence) => {
      let last: Engine | undefined;
      const open = async (): Promise<Engine> =>
        (last = await (last === undefined
          ? schemas.open({ clock })
          : schemas.reopen(last, { clock })));
      expect(await verifySteps(sequence, { open, remove: async () => undefined })).toEqual([]);
    }),
    { numRuns: 1 },
  );
});
