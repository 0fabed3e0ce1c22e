import { followingSuite } from '../../src/testing/store-suite/following.ts';
import { postgresTarget } from '../support/postgres/postgres-target.ts';

followingSuite(postgresTarget());
