import { workflowSuite } from '../../src/testing/workflow-suite/workflow-suite.ts';
import { filesTarget } from '../support/files-target.ts';

workflowSuite(filesTarget());
