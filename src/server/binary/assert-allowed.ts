import { QuipuError } from '../../base/errors.ts';
import { allows } from '../access.ts';
import type { Identity, Scope } from '../access.ts';

export function assertAllowed(identity: Identity, needed: Scope): void {
  if (allows(identity, needed)) return;
  const message = `this takes the scope "${needed}", and ${identity.name} has "${identity.scope}"`;
  throw new QuipuError('FORBIDDEN', message, { scope: needed });
}
