import { sessionSuite } from '../../src/testing/session-suite/session-suite.ts';
import { postgresTarget } from '../support/postgres/postgres-target.ts';

sessionSuite(postgresTarget());
