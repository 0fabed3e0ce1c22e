// Who may do what. A scope includes the ones before it.

export type Scope = 'read' | 'write' | 'admin';

export interface Identity {
  /** For logs. Never the token itself. */
  readonly name: string;
  readonly scope: Scope;
  /** Aborts when the token is revoked or has expired: what it opened should end then. */
  readonly ended?: AbortSignal;
}

export interface Access {
  /** False when everyone who can connect may do everything, as on a loopback address. */
  readonly tokensNeeded: boolean;
  /** Undefined for a token that is unknown, revoked or missing. */
  identify(token: string | undefined): Promise<Identity | undefined>;
}

const RANK: Readonly<Record<Scope, number>> = { read: 0, write: 1, admin: 2 };

export function allows(identity: Identity, needed: Scope): boolean {
  return RANK[identity.scope] >= RANK[needed];
}

/** For listeners that only the owner of the machine can reach. */
export const openAccess: Access = {
  tokensNeeded: false,
  identify: () => Promise.resolve({ name: 'anyone', scope: 'admin' }),
};
