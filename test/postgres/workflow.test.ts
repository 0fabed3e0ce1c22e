import { workflowSuite } from '../../src/testing/workflow-suite/workflow-suite.ts';
import { postgresTarget } from '../support/postgres/postgres-target.ts';

workflowSuite(postgresTarget());
