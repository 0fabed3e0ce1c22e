import { compiledRig } from '../support/build-when-stale.ts';

/** The module `test/crash/<name>.ts`, run by Node itself, which takes a long rig a sixth less time. */
export async function importRig<Rig>(name: string): Promise<Rig> {
  return (await import(compiledRig(name))) as Rig;
}
