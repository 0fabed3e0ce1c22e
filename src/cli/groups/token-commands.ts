import type { Build } from '../build.ts';
import { tokenCreate } from '../commands/token-create.ts';
import { tokenList } from '../commands/token-list.ts';
import { tokenRevoke } from '../commands/token-revoke.ts';

export const tokenCommands: readonly Build[] = [tokenCreate, tokenList, tokenRevoke];
