import { toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextIdLike } from '../../base/brand.ts';
import type { ContextChange } from '../../engine/batch.ts';
import { only } from '../check-input.ts';
import { checkContextName, checkDetails } from '../context-details.ts';
import type { Context } from '../context.ts';
import type { ContextDefaults, Contexts } from '../contexts.ts';
import { StoredContext } from '../stored-context.ts';
import type { ContextsParts } from '../turns/loaded-page.ts';

type NameVerbs = Pick<Contexts, 'getOrCreate' | 'byName' | 'rename'>;

/** The engine decides who has a name: whoever asks it at the same time gets the same context. */
export function nameVerbs({ engine, lifetime }: ContextsParts): NameVerbs {
  async function change(contextChange: ContextChange): Promise<Context> {
    const { contexts } = await engine.commit({ contexts: [contextChange] });
    return new StoredContext(only(contexts));
  }

  return {
    async getOrCreate(name: string, defaults: ContextDefaults = {}): Promise<Context> {
      lifetime.assertOpen('contexts.getOrCreate');
      const { base, ...details } = defaults;
      const meta = checkDetails({ ...details, name: checkContextName(name) });
      const from = base === undefined ? {} : { base: toTurnId(base) };
      return change({ do: 'create', ...from, meta, getNamed: true });
    },

    async byName(name: string): Promise<Context | undefined> {
      lifetime.assertOpen('contexts.byName');
      const row = await engine.findContext(checkContextName(name));
      return row && new StoredContext(row);
    },

    async rename(id: ContextIdLike, name: string | null): Promise<Context> {
      lifetime.assertOpen('contexts.rename');
      const given = name === null ? {} : { name: checkContextName(name) };
      return change({ do: 'rename', context: toContextId(id), ...given });
    },
  };
}
