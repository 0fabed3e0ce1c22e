import { chatSuite } from '../../src/testing/chat-suite/chat-suite.ts';
import { postgresTarget } from '../support/postgres/postgres-target.ts';

chatSuite(postgresTarget());
