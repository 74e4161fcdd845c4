/* setting: reads and writes members of a struct through the rows of their table. */
#include <faro/setting.h>

#include <string.h>

double faro_setting_get(const faro_setting *setting, const void *values) {
  const unsigned char *at = (const unsigned char *)values + setting->offset;
  double real = 0;
  uint64_t count = 0;
  bool on = false;
  int choice = 0;
  switch (setting->type) {
  case FARO_SETTING_REAL:
  case FARO_SETTING_REAL_OPEN: memcpy(&real, at, sizeof real); return real;
  case FARO_SETTING_COUNT: memcpy(&count, at, sizeof count); return (double)count;
  case FARO_SETTING_SWITCH: memcpy(&on, at, sizeof on); return on;
  case FARO_SETTING_CHOICE: memcpy(&choice, at, sizeof choice); return choice;
  case FARO_SETTING_TEXT: return faro_setting_text(setting, values) != NULL;
  }
  return 0;
}

void faro_setting_put(const faro_setting *setting, void *values, double value) {
  unsigned char *at = (unsigned char *)values + setting->offset;
  const uint64_t count = value > 0 ? (uint64_t)value : 0;
  const bool on = value != 0;
  const int choice = (int)count;
  switch (setting->type) {
  case FARO_SETTING_REAL:
  case FARO_SETTING_REAL_OPEN: memcpy(at, &value, sizeof value); break;
  case FARO_SETTING_COUNT: memcpy(at, &count, sizeof count); break;
  case FARO_SETTING_SWITCH: memcpy(at, &on, sizeof on); break;
  case FARO_SETTING_CHOICE: memcpy(at, &choice, sizeof choice); break;
  case FARO_SETTING_TEXT: break; /* a number says nothing about it */
  }
}

const char *faro_setting_text(const faro_setting *setting, const void *values) {
  const char *text = NULL;
  if (setting->type == FARO_SETTING_TEXT)
    memcpy(&text, (const unsigned char *)values + setting->offset, sizeof text);
  return text;
}

void faro_setting_put_text(const faro_setting *setting, void *values, const char *text) {
  if (setting->type == FARO_SETTING_TEXT)
    memcpy((unsigned char *)values + setting->offset, &text, sizeof text);
}

void faro_settings_preset(const faro_setting *settings, void *values) {
  for (; settings && settings->name; settings++) {
    faro_setting_put(settings, values, settings->preset);
    faro_setting_put_text(settings, values, NULL);
  }
}
