import type { Command } from 'commander';
import { isQuipuError } from '../../base/errors.ts';
import { nameOfPlace } from '../../postgres/address.ts';
import type { CommandIo } from '../command.ts';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function init(world: World): Command {
  return defineCommand('init', 'Create a store and print where it is.', [
    'quipu init',
    'quipu init --store ~/.quipu',
  ]).action(
    withIo(world, async (io) => {
      const created = await createOnce(io);
      const store = nameOfPlace(io.newPlace);
      if (io.json) return await io.printJson({ store, created });
      if (!created) world.err('quipu: it was there before\n');
      return await world.out(`${store}\n`);
    }),
  );
}

/** False when there is a store already, which then is only looked at. */
async function createOnce(io: CommandIo): Promise<boolean> {
  try {
    await (await io.openStore(io.newPlace)).close();
    return false;
  } catch (error) {
    if (!isQuipuError(error, 'NOT_FOUND')) throw error;
  }
  await (await io.createStore(io.newPlace)).close();
  return true;
}
