import type { Access } from '../access/access.ts';
import type { ByteBudget } from '../memory/byte-budget.ts';
import type { BinaryHooks } from './hooks.ts';
import type { BinaryLimits } from '../request/limits.ts';
import type { MessageTable } from '../request/request.ts';

/** The parts of its server that a connection works with. */
export interface ConnectionWorld {
  readonly messages: MessageTable;
  readonly access: Access;
  readonly limits: BinaryLimits;
  readonly hooks: BinaryHooks;
  readonly sessionId: bigint;
  readonly budget: ByteBudget;
}
